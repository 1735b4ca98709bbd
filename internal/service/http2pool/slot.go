package http2pool

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/traceid"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// maxResends bounds how often one call is sent again because servers left their connections or refused its stream.
const maxResends = 3

// Slot carries one call at a time. Its methods are for its Sender, on the goroutine that reports to it.
type Slot struct {
	t       *Transport
	on      *connection
	sender  Sender
	track   int
	conn    atomic.Pointer[h2.Conn] // where the call was sent last
	call    *service.Call
	resends int
	room    int64        // bytes that the response of the call in flight may still have
	held    budget.Share // of the messages of that response
	keeps   bool         // the sink keeps them until the call ends
}

func newSlot(t *Transport, on *connection, track int) *Slot {
	s := &Slot{t: t, on: on, track: track, held: t.cfg.Held.Share(), keeps: service.Keeps(t.sink)}
	s.sender = t.sender(s)
	return s
}

// Call is the call in flight; nil when there is none.
func (s *Slot) Call() *service.Call { return s.call }

// Track is the index of the slot's track. Slots of one track are on one connection, and their senders may share a stream:
// their calls are then begun in the order in which they are sent.
func (s *Slot) Track() int { return s.track }

// Later runs fn where ends are reported: on a goroutine of its own, while no other call of the connection ends. A sender uses
// it to end a call about which the server said nothing.
func (s *Slot) Later(fn func()) {
	s.t.wg.Go(func() {
		s.on.lock.Lock()
		defer s.on.lock.Unlock()
		fn()
	})
}

// begin takes a call in.
func (s *Slot) begin(c *service.Call, now int64) {
	s.call, s.resends = c, 0
	c.Err = nil
	r := &c.Rec
	r.Class, r.First, r.End, r.In, r.Responses, r.Late = record.OK, 0, 0, 0, 0, 0
	r.Flags &^= record.EmptyFinal | record.Resent
	r.Sent = now
	s.room = s.t.cfg.MaxResponse
	s.held.Release()
	s.sender.Begin(c)
	r.Written = clock.Now()
}

// open sends the call on c. It returns false where c takes no more calls.
func (s *Slot) open(c *h2.Conn) bool {
	if s.conn.Load() != c {
		s.conn.Store(c)
	}
	return s.sender.Open(c)
}

// Trace gives the stream of a call a traceparent if the call is to be traced. Senders whose calls have a stream each call it in
// Begin.
func (s *Slot) Trace(stream *h2.Stream, c *service.Call) {
	if s.t.cfg.Tracing == nil {
		return
	}
	if id, ok := s.t.cfg.Tracing.Send(uint32(c.Slot), c.Rec.Sent); ok {
		setParent(stream, id)
	} else {
		stream.Also("", nil)
	}
}

// setParent gives the stream a traceparent. It is not part of Trace, which runs for every request and must stay small.
func setParent(stream *h2.Stream, id traceid.ID) {
	var value [traceid.ParentSize]byte
	stream.Also("traceparent", id.AppendParent(value[:0]))
}

// Answered notes that the server has answered: the connection works.
func (s *Slot) Answered() { s.on.answered++ }

// Resend sends the call once more where the error says that the server has not looked at it: it left the connection or refused
// the stream. It reports whether it did so.
func (s *Slot) Resend(err error) bool {
	e, ok := errors.AsType[*neterr.Error](err)
	if s.resends >= maxResends || !ok || !e.Unprocessed {
		return false
	}
	s.resends++
	s.call.Rec.Flags |= record.Resent
	s.on.send(s)
	// The goroutine that is here belongs to the connection that ended: it will not write for another one.
	if c := s.on.conn.Load(); c != nil {
		c.Flush()
	}
	return true
}

// Take counts one message of the response of the call in flight. It returns the failure of the call where its messages
// are above the limit all together.
func (s *Slot) Take(bytes int) *service.Error {
	s.room -= int64(bytes) + service.EventCost
	var text string
	switch {
	case s.keeps && !s.held.Hold(s.t.cfg.MaxResponse-s.room):
		text = s.held.Over()
	case s.room >= 0 || s.call.Rec.In == uint64(bytes): // package h2 has checked the size of a single message
		return nil
	default:
		text = fmt.Sprintf("the messages of the response have more than %d bytes all together", s.t.cfg.MaxResponse)
	}
	return &service.Error{Op: service.OpInfer, Class: record.Protocol, Addr: s.t.cfg.Addr, Text: text + service.RaiseLimit}
}

// Failure turns an error of the wire into the failure of a call.
func (s *Slot) Failure(err error) *service.Error {
	return s.t.cfg.Failure(service.OpInfer, s.t.cfg.Addr, err)
}

// Cancel ends the exchange on a stream of the slot's sender, where it has been sent.
func (s *Slot) Cancel(stream *h2.Stream, cause error) {
	if c := s.conn.Load(); c != nil {
		c.Cancel(stream, cause)
	}
}

// Finish hands the call back; a nil error is success. Times that were not set are set to at.
func (s *Slot) Finish(err *service.Error, at int64) {
	c := s.call
	s.call = nil
	s.held.Release()
	if c.Rec.First == 0 {
		c.Rec.First = at
	}
	if c.Rec.End == 0 {
		c.Rec.End = at
	}
	if err != nil {
		c.Rec.Class, c.Err = err.Class, err
	}
	from := s.conn.Load()
	s.t.sink.Done(c)
	// A call that Done sent onto a newer connection than the one being read must be written here.
	if now := s.conn.Load(); now != from && now != nil {
		now.Flush()
	}
}
