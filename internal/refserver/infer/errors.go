package infer

import (
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Code is the kind of an error, by the kinds that Triton knows.
type Code uint8

// The kinds of errors.
const (
	Internal Code = iota
	NotFound
	InvalidArg
	Malformed  // a value of the wrong kind, or text that is not JSON
	BadVersion // a version that is not a number
	Unavailable
	Unsupported
	AlreadyExists
	Canceled
)

// statuses carry the kinds over HTTP and gRPC.
var statuses = [...]struct {
	http int
	grpc codes.Code
}{
	Internal: {http.StatusInternalServerError, codes.Internal}, NotFound: {http.StatusNotFound, codes.NotFound},
	InvalidArg: {http.StatusBadRequest, codes.InvalidArgument}, Malformed: {http.StatusInternalServerError, codes.InvalidArgument},
	BadVersion: {http.StatusNotFound, codes.InvalidArgument}, Unavailable: {http.StatusServiceUnavailable, codes.Unavailable},
	Unsupported: {http.StatusNotImplemented, codes.Unimplemented}, AlreadyExists: {http.StatusBadRequest, codes.AlreadyExists},
	Canceled: {http.StatusBadRequest, codes.Canceled},
}

// Error is a failure with its kind; its text is what the client sees.
type Error struct {
	Code Code
	Text string
}

func (e *Error) Error() string { return e.Text }

// GRPCStatus is the status of the error for the gRPC library.
func (e *Error) GRPCStatus() *status.Status { return status.New(statuses[e.Code].grpc, e.Text) }

// Errorf makes an Error.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// HTTPStatus is the status that carries an error over HTTP.
func HTTPStatus(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return statuses[e.Code].http
	}
	return http.StatusInternalServerError
}
