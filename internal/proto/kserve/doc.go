// Package kserve holds the messages and the service of the KServe v2 protocol over gRPC with Triton's extensions,
// and Triton's model configuration. All of it but this file is generated from the two .proto files beside it.
//
// Health checks use the standard grpc.health.v1 service of google.golang.org/grpc.
package kserve

//go:generate sh -c "cd ../../../tools && go run ./protogen ../internal/proto/kserve"
