// Package sse reads text/event-stream, the format of streamed answers, as it comes off a connection.
//
// Reads cut a stream anywhere and join what was written apart. The Parser puts events together again: it is
// fed pieces of any size and hands each whole event on with the time of the read that completed it. Lines may
// end with LF, CRLF or CR, values may run over several data lines, comments keep a connection alive and mean
// nothing; all that is the WHATWG's definition of the format. What an event means, such as "[DONE]", is the
// caller's business.
//
// An event that came in one read is not copied. One that did not is gathered in a buffer that is kept, so that
// after the first few events nothing is allocated.
package sse

import (
	"bytes"
	"errors"
)

// DefaultMax is the limit on the size of one event where a Parser has none.
const DefaultMax = 64 << 20

// ErrTooLarge means that an event is above the limit.
var ErrTooLarge = errors.New("an event of the stream is above the limit")

// Event is one event. Its slices are valid until the handler returns.
type Event struct {
	// Text is the event as it came, comments left out, every line ended by LF, the empty line at its end included.
	Text []byte
	Data []byte // the values of its data lines, joined by LF
	Type []byte // of its event line; empty for a plain message
	ID   []byte
	// Retry is the time that the server asks clients to wait before they reconnect, as it wrote it.
	Retry []byte
	At    int64 // when the read came that completed it
}

// Handler receives events.
type Handler interface {
	OnEvent(e *Event)
}

// Parser turns pieces of a stream into events. The zero value is ready. It is not safe for concurrent use.
type Parser struct {
	Max int // bytes of one event; 0 is DefaultMax

	buf    []byte // what has come of an unfinished event
	pos    int    // start of the line in buf that is not parsed yet
	scan   int    // up to where buf was searched for the line's end
	begun  bool   // past the byte order mark
	skipLF bool   // the last line ended with CR: an LF that follows belongs to it

	// The event in the making. Spans count from its start.
	lines  int // data lines
	fields int
	data   span
	typ    span
	id     span
	retry  span
	joined []byte // data of more than one line
	dirty  bool   // its text is not what came: it is put together in text
	text   []byte
	ev     Event
}

type span struct{ a, b int }

func (s span) of(b []byte) []byte { return b[s.a:s.b] }

// Reset makes ready for another stream.
func (p *Parser) Reset() {
	p.buf, p.pos, p.scan = p.buf[:0], 0, 0
	p.begun, p.skipLF = false, false
	p.clear()
}

// clear makes ready for another event.
func (p *Parser) clear() {
	p.lines, p.fields, p.dirty = 0, 0, false
	p.typ, p.id, p.retry = span{}, span{}, span{}
}

// Pending tells whether a part of an event has come, but not its end.
func (p *Parser) Pending() bool { return len(p.buf) > 0 }

// Feed takes the next piece of the stream, read at the given time. The only error is ErrTooLarge; the parser
// then needs a Reset.
func (p *Parser) Feed(b []byte, at int64, h Handler) error {
	in := b
	if len(p.buf) > 0 {
		p.buf = append(p.buf, b...)
		in = p.buf
	}
	if !p.begun {
		if len(in) < len(mark) && bytes.HasPrefix(mark, in) {
			if len(p.buf) == 0 {
				p.buf = append(p.buf, in...)
			}
			return nil
		}
		in = bytes.TrimPrefix(in, mark)
		p.begun = true
	}
	rest, err := p.parse(in, at, h)
	if len(rest) < len(p.buf) || len(p.buf) == 0 { // else it is all of buf
		p.buf = append(p.buf[:0], rest...)
	}
	p.scan = len(rest)
	return err
}

// IsEvents tells whether a content type is that of an event stream.
func IsEvents(ctype []byte) bool {
	const name = "text/event-stream"
	if len(ctype) < len(name) || !bytes.EqualFold(ctype[:len(name)], []byte(name)) {
		return false
	}
	return len(ctype) == len(name) || ctype[len(name)] == ';' || ctype[len(name)] == ' '
}

// mark is the byte order mark that may open a stream.
var mark = []byte("\xef\xbb\xbf")

// End tells that the stream has ended. An event that lacks nothing but its empty line is handed on: servers
// forget it at the end.
func (p *Parser) End(at int64, h Handler) error {
	if len(p.buf) == 0 {
		return nil
	}
	return p.Feed([]byte("\n\n"), at, h)
}
