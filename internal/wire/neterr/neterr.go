// Package neterr is how an exchange with a server fails below the meaning of its messages: one list of kinds, and one error
// type, for HTTP/1.1 and HTTP/2.
package neterr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/redline-bench/redline/internal/record"
)

// Kind says what went wrong, as far as a caller may want to act on it.
type Kind uint8

// The kinds. Those of the first group keep a connection from being made, those of the second end one, those of the third end
// a request.
const (
	Unreachable Kind = iota // no connection, for another reason than those below
	Resolve                 // the host has no address
	Refused                 // nothing listens at the address
	Timeout                 // no connection, or no HTTP/2 settings, in time
	Handshake               // the TLS handshake failed
	NotHTTP                 // the server answers in another protocol

	Closed    // the server closed the connection; over HTTP/1.1 before the first byte of a response
	Truncated // the server closed the connection in the middle of a response
	Reset     // the server reset the connection
	Lost      // the connection failed in another way
	Broken    // a caller broke the connection, or a deadline passed
	Local     // a caller closed the connection
	GoAway    // the server takes no more streams on the connection

	Malformed   // the server broke the rules of the protocol
	TooLarge    // a response is above the limits
	StreamReset // the server reset the stream; Code says why
	Status      // an HTTP status other than 200 instead of a gRPC status; Code is the status
	Canceled    // a caller canceled the request; Err is the cause given there
	numKinds
)

var kindNames = [numKinds]string{
	"unreachable", "resolve", "refused", "timeout", "handshake", "not http",
	"closed", "truncated", "reset", "lost", "broken", "closed here", "go away",
	"protocol error", "too large", "stream reset", "http status", "canceled",
}

func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return "unknown"
}

// Class is the class of a request that fails in this way.
func (k Kind) Class() record.Class {
	switch k {
	case Unreachable, Resolve, Refused, Timeout, Handshake:
		return record.Connect
	case NotHTTP, Malformed, TooLarge, Status:
		return record.Protocol
	case Local, Canceled:
		return record.Canceled
	case Closed, Truncated, Reset, Lost, Broken, GoAway, StreamReset, numKinds:
	}
	return record.Transport
}

// ErrHTTP1 is the cause of NotHTTP where a server answers a client of HTTP/2 in HTTP/1.
var ErrHTTP1 = errors.New("it speaks HTTP/1, not gRPC")

// Error is a failure of a connection or of one request.
type Error struct {
	Kind Kind
	Addr string // of the server, where Text does not tell it
	Code uint32 // HTTP/2 error code, or the HTTP status
	Text string // what happened, without the cause; empty: a sentence by Kind
	Err  error  // the cause, if any
	// Partial is set when some bytes of the response had come.
	Partial bool
	// Unprocessed is set when the server promises that it did nothing with the request.
	Unprocessed bool
}

func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	switch {
	case e.Text != "" && e.Err != nil:
		return e.Text + ": " + e.Err.Error()
	case e.Text != "":
		return e.Text
	}
	during := ""
	if e.Partial {
		during = " in the middle of a reply"
	}
	switch e.Kind {
	case Resolve:
		return fmt.Sprintf("the host of %s has no address (%v): check the name", e.Addr, e.Err)
	case Refused:
		return fmt.Sprintf("nothing listens at %s (connection refused): check that the server is up and the port is right", e.Addr)
	case Handshake:
		return fmt.Sprintf("no TLS with %s: %v", e.Addr, e.Err)
	case NotHTTP:
		return fmt.Sprintf("%s does not answer in HTTP/1.x: check that this is the HTTP port", e.Addr)
	case Unreachable, Timeout:
		return fmt.Sprintf("cannot connect to %s: %v", e.Addr, e.Err)
	case Closed:
		return fmt.Sprintf("%s closed the connection without a reply", e.Addr)
	case Truncated:
		return fmt.Sprintf("%s closed the connection in the middle of a reply", e.Addr)
	case Reset:
		return fmt.Sprintf("%s reset the connection%s", e.Addr, during)
	case Broken:
		return fmt.Sprintf("the connection to %s was cut%s", e.Addr, during)
	case Canceled:
		return fmt.Sprint(e.Err)
	default:
		return fmt.Sprintf("the connection to %s failed%s: %v", e.Addr, during, e.Err)
	}
}

// KindOf is the kind of an error of the wire; other errors are Lost.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Lost
}

// Dial classes the error of a connection that could not be made.
func Dial(addr string, err error) *Error {
	e := &Error{Kind: Unreachable, Addr: addr, Err: err}
	var network net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Kind = Refused
	case errors.As(err, new(*net.DNSError)):
		e.Kind = Resolve
	case errors.Is(err, context.Canceled):
		e.Kind = Broken
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		e.Kind = Timeout
	}
	return e
}

// Lose is the kind of an error that a read or a write on a connection returned.
func Lose(err error) Kind {
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Reset
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
		return Broken
	}
	return Lost
}
