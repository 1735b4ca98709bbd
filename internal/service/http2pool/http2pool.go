// Package http2pool is a connection pool over HTTP/2 for the service kinds that use it, with gRPC or without.
//
// Many slots share one connection, as streams do; so a closed loop of many requests in flight costs one read and one write for
// a whole batch. A lost connection is made again, while requests wait for it or fail with the reason.
//
// What a request is on the wire is the kind's affair: it gives a Sender for each slot, which opens streams and reports their
// ends through the methods of its Slot. Package grpcpool has the Sender of gRPC.
package http2pool

import (
	"crypto/tls"
	"errors"
	"net"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/traceid"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// Config says how to connect.
type Config struct {
	Addr        string
	TLS         *tls.Config    // nil: HTTP/2 with prior knowledge, over plain TCP
	Connections int            // 0: as many as the slots need
	Arrivals    bool           // responses have the times of their arrival, see package arrival
	MaxResponse int64          // bytes of one response
	MaxUnread   int64          // bytes of responses that have come in part, on one connection; 0 is four times MaxResponse
	Held        *budget.Budget // limit of the response bytes that all requests in flight hold together
	// LazyDial ignores dial errors in Grow. Each request waits for the next attempt to connect and reports its error.
	LazyDial bool
	// Tracing chooses the requests that get a traceparent.
	Tracing *traceid.Sampler
	// Failure turns an error of the wire into the failure of a request; nil is the function of that name.
	Failure func(op, addr string, err error) *service.Error
}

// Wire is the configuration of one connection.
func (c *Config) Wire() h2.Config {
	return h2.Config{Addr: c.Addr, TLS: c.TLS, Arrival: c.Arrivals, MaxMessage: int(c.MaxResponse), MaxUnread: int(c.MaxUnread), Budget: c.Held}
}

// Sender is a kind's side of a slot. It opens streams, reports what comes on them through the methods of its Slot, and is told
// by the pool what to do.
type Sender interface {
	// Begin takes a call in. Whatever the reader may touch is set here, before the call can be answered.
	Begin(c *service.Call)
	// Open sends the call on a connection. It returns false where the connection takes no more calls.
	Open(conn *h2.Conn) bool
	// Cancel ends the call in flight, where it has been sent, with a cause.
	Cancel(cause error)
}

// Failure turns an error of the wire into one of the service. Its text does not repeat the address.
func Failure(op, addr string, err error) *service.Error {
	e := &service.Error{Op: op, Addr: addr, Class: record.Transport, Err: err, Text: err.Error()}
	wireErr, ok := errors.AsType[*neterr.Error](err)
	if !ok {
		return e
	}
	e.Class, e.Text = wireErr.Kind.Class(), wireErr.Text
	switch wireErr.Kind {
	case neterr.Refused:
		e.Text = "connection refused"
	case neterr.Unreachable, neterr.Resolve:
		e.Text = reason(wireErr)
	case neterr.Handshake:
		e.Text = "no agreement on TLS: " + reason(wireErr)
	case neterr.NotHTTP: // a client of HTTP/2 finds out while it connects
		e.Class, e.Text = record.Connect, "the server does not speak HTTP/2: try --http-version 1.1"
	case neterr.Timeout:
		e.Text = "connected, but no HTTP/2 settings came in time: try --http-version 1.1"
	case neterr.Malformed:
		e.Text = wireErr.Error()
	case neterr.TooLarge:
		e.Text = wireErr.Error() + service.RaiseLimit
	case neterr.Status:
		e.Code = int(wireErr.Code)
	case neterr.Canceled:
		e.Text = "the request was canceled"
		if cause, ok := errors.AsType[*service.Error](wireErr.Err); ok {
			e.Class, e.Text = cause.Class, cause.Text
		}
	default: // the text of the wire says it
	}
	return e
}

// NotConnected is the class of a request for which no connection could be made.
func NotConnected(e *service.Error) *service.Error {
	if e.Class == record.Transport { // lost while it was being set up
		e.Class = record.Connect
	}
	return e
}

// reason is the innermost cause of a failed dial.
func reason(e *neterr.Error) string {
	if op, ok := errors.AsType[*net.OpError](e.Err); ok && op.Err != nil {
		return op.Err.Error()
	}
	if e.Err != nil {
		return e.Err.Error()
	}
	return e.Text
}
