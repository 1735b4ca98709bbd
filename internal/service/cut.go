package service

import (
	"time"

	"github.com/redline-bench/redline/internal/record"
)

// The operations of errors of a load, as they stand in Error.Op.
const (
	OpInfer   = "infer"
	OpConnect = "connect"
)

// ErrCanceled is the failure of requests that were in flight when the run ended.
var ErrCanceled = &Error{Op: OpInfer, Class: record.Canceled, Text: "the request was canceled because the run ended"}

// CutError is the failure of a request that Transport.Cut ended. server names the server, cause may be nil.
func CutError(class record.Class, server string, cause error) *Error {
	if class == record.Canceled {
		return ErrCanceled
	}
	return &Error{Op: OpInfer, Class: class, Addr: server, Err: cause, Text: "no complete response from " + server + " within the request's deadline"}
}

// The limits of Backoff.
const (
	firstBackoff = 10 * time.Millisecond
	maxBackoff   = 500 * time.Millisecond
)

// Backoff is how long to wait before the next attempt to connect, after a number of failed attempts in a row. The wait doubles
// with each failure.
func Backoff(failures int) time.Duration {
	return min(firstBackoff<<min(max(failures-1, 0), 10), maxBackoff)
}
