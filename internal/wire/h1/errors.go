package h1

import (
	"errors"
	"io"

	"github.com/redline-bench/redline/internal/wire/neterr"
)

func (c *Conn) readError(err error) error {
	e := &neterr.Error{Kind: neterr.Lose(err), Addr: c.addr, Partial: c.rd.started(), Err: err}
	switch {
	case errors.Is(err, io.EOF) && e.Partial:
		e.Kind = neterr.Truncated
	case errors.Is(err, io.EOF):
		e.Kind = neterr.Closed
	}
	return e
}

func (c *Conn) writeError(err error) error {
	return &neterr.Error{Kind: neterr.Lose(err), Addr: c.addr, Err: err}
}

// fault is what the parser found wrong. It knows no address; parseError adds it.
type fault struct {
	kind   neterr.Kind
	detail string
}

func (f *fault) Error() string { return f.detail }

func malformed(detail string) error { return &fault{neterr.Malformed, detail} }

func tooLarge(detail string) error { return &fault{neterr.TooLarge, detail} }

func (c *Conn) parseError(err error) error {
	e := &neterr.Error{Kind: neterr.Malformed, Addr: c.addr, Partial: true, Err: err}
	if f, ok := errors.AsType[*fault](err); ok {
		e.Kind = f.kind
	}
	switch e.Kind {
	case neterr.Malformed:
		e.Text = "malformed HTTP reply from " + c.addr
	case neterr.TooLarge:
		e.Text = "the HTTP reply from " + c.addr + " is too large"
	default: // the kind says it
	}
	return e
}
