// Package httppool is a connection pool over HTTP/1.1 for the service kinds that use it: connections, the goroutines that
// read them, and the rules between those goroutines and the senders.
//
// A slot is one connection and one goroutine. The goroutine reads, lets the kind's Exchange judge the reply and reports the end
// of the request. The engine usually sends the next request from within that report, so that a closed loop hands nothing over
// between goroutines and allocates nothing. See slot.go for the rules.
//
// Server is the address, its TLS and the headers that every request carries. Apart from the User-Agent they are those of libcurl, which most
// clients of inference servers use, so that a server sees the same traffic from this one.
package httppool

import (
	"errors"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// Exchange is a kind's side of one slot: how its requests look on the wire and what its replies mean. It
// belongs to one slot, so it may keep buffers; a call's request is rendered before its reply is read. One that
// is an io.Closer is closed with its slot.
type Exchange interface {
	// Render gives the bytes to write for one send, in one piece or two, and how many of them are the HTTP body.
	// They must stay as they are until the reply has come.
	Render(c *service.Call) (head, rest []byte, body int)
	// Head looks at the head of a reply. Returning true asks for the body piece by piece.
	Head(c *service.Call, r *wire.Reply) (stream bool)
	// Data takes a piece of such a body, read at the given time. b is valid until it returns.
	Data(c *service.Call, b []byte, at int64)
	// Reply judges a whole reply and reports its answers to the sink; nil means that it is a good one. Where it
	// leaves the record's First and End alone, they are the times of the reply's first and last byte.
	Reply(c *service.Call, r *wire.Reply) *service.Error
}

// Interruptible is an Exchange that may work on an answer for long, as on one that has to be unpacked. It is given a
// function that tells whether the call at hand was cut; such an answer need not be finished.
type Interruptible interface {
	Interrupted(asked func() bool)
}

// Failure turns an error of the wire into one of the service.
func Failure(op, addr string, err error) *service.Error {
	kind := neterr.KindOf(err)
	e := &service.Error{Op: op, Class: kind.Class(), Addr: addr, Err: err}
	if !errors.As(err, new(*neterr.Error)) {
		e.Class = record.Protocol
	}
	if kind == neterr.TooLarge {
		e.Text = err.Error() + service.RaiseLimit
	}
	return e
}
