// Package httplane carries requests over HTTP/1.1 for the service kinds that speak it: connections, the
// goroutines that read them, and the rules between those and the senders.
//
// A slot is a connection, a goroutine and a lane. The goroutine reads, has the reply judged by the kind's
// Exchange, reports its end, and usually finds itself sending the next request from within that report; so a
// closed loop hands nothing over between goroutines and allocates nothing. See slot.go for the rules.
//
// Server is the other half: the address, its TLS and the headers that every request carries, in the manner of
// libcurl, which the original uses, so that a server sees the same traffic from both.
package httplane

import (
	"errors"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/h1"
)

// Exchange is a kind's side of one slot: how its requests look on the wire and what its replies mean. It
// belongs to one slot, so it may keep buffers; a call's request is rendered before its reply is read. One that
// is an io.Closer is closed with its slot.
type Exchange interface {
	// Render gives the bytes to write for one send, in one piece or two, and how many of them are the HTTP body.
	// They must stay as they are until the reply has come.
	Render(c *service.Call) (head, rest []byte, body int)
	// Head looks at the head of a reply. Returning true asks for the body piece by piece.
	Head(c *service.Call, r *h1.Reply) (stream bool)
	// Data takes a piece of such a body, read at the given time. b is valid until it returns.
	Data(c *service.Call, b []byte, at int64)
	// Reply judges a whole reply and reports its answers to the sink; nil means that it is a good one. Where it
	// leaves the record's First and End alone, they are the times of the reply's first and last byte.
	Reply(c *service.Call, r *h1.Reply) *service.Error
}

// Interruptible is an Exchange that may work on an answer for long, as on one that has to be unpacked. It is given a
// function that tells whether the call at hand was cut; such an answer need not be finished.
type Interruptible interface {
	Interrupted(asked func() bool)
}

// Failure turns what the wire says into a service error.
func Failure(op, addr string, err error) *service.Error {
	e := &service.Error{Op: op, Class: classOf(err), Addr: addr, Err: err}
	if KindOf(err) == h1.TooLarge {
		e.Text = err.Error() + service.RaiseLimit
	}
	return e
}

func classOf(err error) record.Class {
	e, ok := errors.AsType[*h1.Error](err)
	if !ok {
		return record.Protocol
	}
	switch e.Kind {
	case h1.Unreachable, h1.Resolve, h1.Refused, h1.Handshake:
		return record.Connect
	case h1.NotHTTP, h1.Malformed, h1.TooLarge:
		return record.Protocol
	case h1.Reset, h1.Empty, h1.Truncated, h1.Broken, h1.Lost:
	}
	return record.Transport
}

// KindOf is how the wire says that a conversation failed.
func KindOf(err error) h1.Kind {
	if e, ok := errors.AsType[*h1.Error](err); ok {
		return e.Kind
	}
	return h1.Lost
}
