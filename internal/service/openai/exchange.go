package openai

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/h2/zip"
	"github.com/redline-bench/redline/internal/wire/sse"
)

// exchange is the protocol's side of one slot.
type exchange struct {
	sink   service.Sink
	closes bool
	limit  int64 // bytes of one response, unpacked

	// The stream at hand.
	call   *service.Call
	events sse.Parser
	zip    *inflater      // of a compressed stream
	done   bool           // [DONE] has come
	fault  *service.Error // what was wrong first; the rest of the stream is not looked at
	last   []byte         // data of the last answer
	at     int64          // when the piece at hand was read
	room   int64          // bytes that the stream may still have, unpacked

	held        budget.Share // of what the client keeps of the answer at hand
	keeps       bool         // the client keeps streams until they end
	unpacker    zip.Unpacker
	interrupted func() bool // tells whether the call at hand was given up; may be nil
}

// newExchange makes the exchange of a slot.
func (s *Service) newExchange(sink service.Sink) *exchange {
	x := &exchange{sink: sink, closes: s.closes, limit: s.target.ResponseLimit(0), held: s.at.Held().Share()}
	x.unpacker.Share, x.keeps = s.at.Held().Share(), service.Keeps(sink)
	x.events.Max = int(min(x.limit, sse.DefaultMax))
	return x
}

// Interrupted implements httppool.Interruptible.
func (x *exchange) Interrupted(asked func() bool) { x.interrupted = asked }

// tooLarge is the failure of a response above the limit.
func (x *exchange) tooLarge() *service.Error {
	return malformed(fmt.Sprintf("it has more than %d bytes%s", x.limit, service.RaiseLimit))
}

// noRoom is the failure of a response that, together with those in flight, takes too many bytes.
func (x *exchange) noRoom() *service.Error { return malformed(x.held.Over() + service.RaiseLimit) }

// Render gives the bytes of a request.
func (x *exchange) Render(c *service.Call) (head, rest []byte, body int) {
	r := c.Req.(*request)
	return r.head, r.body, r.size
}

// good tells whether the status is one of success with a body.
func good(status int) bool { return status >= 200 && status < 300 && status != http.StatusNoContent }

// Head decides by the content type whether the answer is a stream.
func (x *exchange) Head(c *service.Call, r *wire.Reply) bool {
	x.stop()
	if !good(r.Status) || !sse.IsEvents(r.Type) {
		return false
	}
	x.call, x.done, x.fault, x.last, x.room = c, false, nil, x.last[:0], x.limit
	x.events.Reset()
	if encoded(r.Encoding) {
		var err error
		if x.zip, err = newInflater(r.Encoding, x.feed); err != nil {
			x.fault = malformed(err.Error())
		}
	}
	return true
}

func encoded(encoding []byte) bool {
	return len(encoding) > 0 && !bytes.EqualFold(encoding, []byte("identity"))
}

// Data takes a piece of a stream.
func (x *exchange) Data(_ *service.Call, b []byte, at int64) {
	x.at = at
	switch {
	case x.fault != nil:
	case x.zip != nil:
		x.zip.feed(b)
	default:
		x.feed(b)
	}
}

// feed takes plain text of a stream. It returns false where the rest is not wanted.
func (x *exchange) feed(b []byte) bool {
	if x.room -= int64(len(b)); x.room < 0 {
		x.fault = cmp.Or(x.fault, x.tooLarge())
		return false
	}
	if x.keeps && !x.held.Hold(x.limit-x.room) {
		x.fault = cmp.Or(x.fault, x.noRoom())
		return false
	}
	if err := x.events.Feed(b, x.at, x); err != nil && x.fault == nil {
		x.fault = malformed(err.Error())
	}
	return x.fault == nil && (x.interrupted == nil || !x.interrupted())
}

// doneMark is the data of the event that ends a stream.
var doneMark = []byte("[DONE]")

// OnEvent takes one event.
func (x *exchange) OnEvent(e *sse.Event) {
	if x.room -= service.EventCost; x.room < 0 && x.fault == nil {
		x.fault = x.tooLarge()
	}
	if x.done || x.fault != nil {
		return
	}
	if len(e.Data) < 16 && bytes.Equal(bytes.TrimSpace(e.Data), doneMark) {
		x.done = true
		x.sink.Response(x.call, e.Text, e.At, true)
		return
	}
	if string(e.Type) == "ping" { // it only keeps the connection open
		return
	}
	if isError(e) {
		x.fault = &service.Error{
			Op: service.OpInfer, Class: record.Server, Code: 200, Text: "OpenAI stream returns an error: " + quote(e.Data),
		}
		return
	}
	rec := &x.call.Rec
	if rec.Responses == 0 {
		rec.First = e.At
	}
	rec.Responses++
	rec.End = e.At
	x.last = append(x.last[:0], e.Data...)
	x.sink.Response(x.call, e.Text, e.At, false)
}

// Reply judges a whole answer.
func (x *exchange) Reply(c *service.Call, r *wire.Reply) *service.Error {
	if x.call != nil {
		defer x.stop()
		return x.streamed(r)
	}
	body, err := x.body(r)
	switch {
	case err != nil:
		return err
	case !good(r.Status):
		return &service.Error{
			Op: service.OpInfer, Class: record.Server, Code: r.Status,
			Err: &service.StatusError{Status: r.Status, RetryAfter: service.Said(string(r.Retry)), Body: quote(body)},
		}
	}
	if err := checkBody(r.Type, body); err != nil {
		return err
	}
	c.Rec.Responses = 1
	x.sink.Response(c, body, r.End, false)
	return check(c, body)
}

// streamed judges a stream that has ended.
func (x *exchange) streamed(r *wire.Reply) *service.Error {
	x.at = r.End
	if x.zip != nil && x.fault == nil {
		if err := x.zip.end(); err != nil {
			return malformed(err.Error())
		}
	}
	if err := x.events.End(r.End, x); err != nil && x.fault == nil {
		return malformed(err.Error())
	}
	switch {
	case x.fault != nil:
		return x.fault
	case x.call.Rec.Responses == 0:
		return malformed("the stream holds no answer")
	case x.closes && !x.done && !finished(x.last):
		return malformed("the stream ended without data: [DONE]")
	}
	return check(x.call, x.last)
}

// stop lets go of the stream at hand.
func (x *exchange) stop() {
	if x.zip != nil {
		x.zip.stop()
		x.zip = nil
	}
	x.call = nil
	x.held.Release()
}

// Close frees what a canceled stream has left.
func (x *exchange) Close() error {
	x.stop()
	x.unpacker.Share.Release()
	return nil
}

func malformed(why string) *service.Error {
	return &service.Error{Op: service.OpInfer, Class: record.Protocol, Code: 200, Text: "malformed OpenAI response: " + why}
}
