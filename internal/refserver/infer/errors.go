package infer

import (
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/grpc/codes"
)

// Code is the kind of an error, by the kinds that Triton knows.
type Code uint8

// The kinds of errors.
const (
	Unknown Code = iota
	Internal
	NotFound
	InvalidArg
	Unavailable
	Unsupported
	AlreadyExists
	Canceled
	TooLarge
	NotAllowed
)

// Error is a failure with its kind; its text is what the client sees.
type Error struct {
	Code Code
	Text string
}

func (e *Error) Error() string { return e.Text }

// Errorf makes an Error.
func Errorf(code Code, format string, args ...any) error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// CodeOf finds the kind of an error; Internal for one that has none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// HTTP is the status that carries the error over HTTP.
func (c Code) HTTP() int {
	switch c {
	case Internal:
		return http.StatusInternalServerError
	case NotFound:
		return http.StatusNotFound
	case Unavailable:
		return http.StatusServiceUnavailable
	case Unsupported:
		return http.StatusNotImplemented
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case NotAllowed:
		return http.StatusMethodNotAllowed
	case Unknown, InvalidArg, AlreadyExists, Canceled:
		return http.StatusBadRequest
	}
	return http.StatusBadRequest
}

// GRPC is the status that carries the error over gRPC.
func (c Code) GRPC() codes.Code {
	switch c {
	case Internal:
		return codes.Internal
	case NotFound:
		return codes.NotFound
	case InvalidArg:
		return codes.InvalidArgument
	case Unavailable:
		return codes.Unavailable
	case Unsupported, NotAllowed:
		return codes.Unimplemented
	case AlreadyExists:
		return codes.AlreadyExists
	case Canceled:
		return codes.Canceled
	case TooLarge:
		return codes.ResourceExhausted
	case Unknown:
		return codes.Unknown
	}
	return codes.Unknown
}
