// Package tfserving holds the messages and services of TensorFlow Serving over gRPC: Predict, the model's metadata
// and its status. All of it but this file is generated from the two .proto files beside it.
package tfserving

//go:generate sh -c "cd ../../../tools && go run ./protogen ../internal/proto/tfserving"
