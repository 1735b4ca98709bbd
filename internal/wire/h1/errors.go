package h1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// Kind says how a conversation failed.
type Kind uint8

// The kinds.
const (
	Unreachable Kind = iota // no connection, for another reason than the next three
	Resolve                 // the host has no address
	Refused                 // nothing listens there
	Handshake               // TLS was not agreed on
	Reset                   // the server reset the connection
	Empty                   // the server closed the connection before the first byte of a reply
	Truncated               // the server closed the connection in the middle of a reply
	NotHTTP                 // the answer is in another protocol
	Malformed               // the answer breaks the rules of HTTP/1.x
	TooLarge                // a head or body above the limits
	Broken                  // Break was called, or a deadline passed
	Lost                    // the connection failed in another way
	numKinds
)

var kindNames = [numKinds]string{
	"unreachable", "resolve", "refused", "handshake", "reset", "empty", "truncated",
	"not http", "malformed", "too large", "broken", "lost",
}

func (k Kind) String() string {
	if k < numKinds {
		return kindNames[k]
	}
	return "unknown"
}

// Error is what ended a connection, or kept it from being made.
type Error struct {
	Kind   Kind
	Addr   string
	Detail string // what exactly, for Malformed and TooLarge
	// Partial: some bytes of the reply had come.
	Partial bool
	Err     error
}

func (e *Error) Error() string {
	switch e.Kind {
	case Resolve:
		return fmt.Sprintf("the host of %s has no address (%v): check the name", e.Addr, e.Err)
	case Refused:
		return fmt.Sprintf("nothing listens at %s (connection refused): check that the server is up and the port is right", e.Addr)
	case Handshake:
		return fmt.Sprintf("no TLS with %s: %v", e.Addr, e.Err)
	case Reset:
		return fmt.Sprintf("%s reset the connection%s", e.Addr, e.during())
	case Empty:
		return fmt.Sprintf("%s closed the connection without a reply", e.Addr)
	case Truncated:
		return fmt.Sprintf("%s closed the connection in the middle of a reply", e.Addr)
	case NotHTTP:
		return fmt.Sprintf("%s does not answer in HTTP/1.x: check that this is the HTTP port", e.Addr)
	case Malformed:
		return fmt.Sprintf("malformed HTTP reply from %s: %s", e.Addr, e.Detail)
	case TooLarge:
		return fmt.Sprintf("the HTTP reply from %s is too large: %s", e.Addr, e.Detail)
	case Broken:
		return fmt.Sprintf("the connection to %s was cut%s", e.Addr, e.during())
	case Unreachable:
		return fmt.Sprintf("cannot connect to %s: %v", e.Addr, e.Err)
	default:
		return fmt.Sprintf("the connection to %s failed%s: %v", e.Addr, e.during(), e.Err)
	}
}

func (e *Error) during() string {
	if e.Partial {
		return " in the middle of a reply"
	}
	return ""
}

func (e *Error) Unwrap() error { return e.Err }

func dialError(addr string, err error) error {
	e := &Error{Kind: Unreachable, Addr: addr, Err: err}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Kind = Refused
	case isDNS(err):
		e.Kind = Resolve
	case errors.Is(err, context.Canceled):
		e.Kind = Broken
	}
	return e
}

func isDNS(err error) bool {
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}

func (c *Conn) readError(err error) error {
	e := &Error{Kind: Lost, Addr: c.addr, Partial: c.rd.started(), Err: err}
	switch {
	case errors.Is(err, io.EOF) && e.Partial:
		e.Kind = Truncated
	case errors.Is(err, io.EOF):
		e.Kind = Empty
	default:
		e.Kind = lostKind(err)
	}
	return e
}

func (c *Conn) writeError(err error) error {
	return &Error{Kind: lostKind(err), Addr: c.addr, Err: err}
}

func lostKind(err error) Kind {
	switch {
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Reset
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, net.ErrClosed):
		return Broken
	}
	return Lost
}

// fault is what the parser found wrong. It knows no address; parseError adds it.
type fault struct {
	kind   Kind
	detail string
}

func (f *fault) Error() string { return f.detail }

func malformed(detail string) error { return &fault{Malformed, detail} }

func tooLarge(detail string) error { return &fault{TooLarge, detail} }

func (c *Conn) parseError(err error) error {
	e := &Error{Kind: Malformed, Addr: c.addr, Partial: true, Err: err}
	if f, ok := errors.AsType[*fault](err); ok {
		e.Kind, e.Detail = f.kind, f.detail
	}
	return e
}
