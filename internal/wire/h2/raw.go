package h2

import (
	"strconv"

	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// HeadHandler is a Handler of plain HTTP/2 exchanges, which have no gRPC in them. A stream that is bound to one
// hands on the answer's head when it comes and then the body piece by piece, as it comes, through OnMessage. The end
// of a whole answer has the status 0 and no error, whatever its HTTP status is.
type HeadHandler interface {
	Handler
	// OnHead reports the head of the answer. r belongs to the stream and is complete, but for its body, with OnEnd.
	OnHead(r *wire.Reply)
}

// NewHeader makes a header of the given fields, pseudo headers first, names in lower case. The body of a request is
// sent as a framed Message.
func NewHeader(fields ...Field) *Header { return &Header{fields: fields} }

// setLength takes a content-length.
func (m *meta) setLength(value []byte) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < 0 || m.length >= 0 && m.length != n {
		m.bad = "a malformed content-length"
		return
	}
	m.length = n
}

// rawBlock takes a header block of a plain answer: its head, or its trailers.
func (c *Conn) rawBlock(s *Stream, m *meta, end bool, at int64) {
	in := &s.in
	var bad *neterr.Error
	switch {
	case m.bad != "":
		bad = violation(codeProtocol, "the answer holds %s", m.bad)
	case in.headers && m.http != 0:
		bad = violation(codeProtocol, "the trailers hold a :status")
	case in.headers && !end:
		bad = violation(codeProtocol, "a second header block does not end the stream")
	case !in.headers && m.http == 0:
		bad = violation(codeProtocol, "the answer has no :status")
	case !in.headers && m.http/100 == 1 && end:
		bad = violation(codeProtocol, "the answer ends with an interim head")
	case !in.headers && m.http/100 == 1:
		return // the real head follows
	}
	if bad != nil {
		c.failStream(s, bad, at)
		return
	}
	if !in.headers {
		in.headers, in.length, in.late = true, m.length, c.in.late
		if in.first == 0 {
			in.first = at
		}
		ctype := m.ctype
		if m.grpc {
			ctype = "application/grpc"
		}
		r := s.reply
		*r = wire.Reply{
			Status: m.http, Type: append(r.Type[:0], ctype...), Encoding: append(r.Encoding[:0], m.coding...),
			Retry: append(r.Retry[:0], m.retry...), Number: -1, First: at,
		}
		s.raw.OnHead(r)
	}
	if end {
		c.rawEnd(s, at)
	}
}

// rawEnd ends a plain answer that is whole.
func (c *Conn) rawEnd(s *Stream, at int64) {
	if s.in.length >= 0 && s.in.got != s.in.length {
		c.failStream(s, violation(codeProtocol, "the body has %d bytes, announced were %d", s.in.got, s.in.length), at)
		return
	}
	s.reply.Size, s.reply.End, s.reply.Late = s.in.got, at, s.in.late
	// A server that ends before it has the whole request will not read the rest: say that none comes.
	c.mu.Lock()
	reset := s.state == open
	c.mu.Unlock()
	c.release(s, reset, codeNo)
	s.h.OnEnd(End{}, at)
}
