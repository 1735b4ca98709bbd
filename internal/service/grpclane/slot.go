package grpclane

import (
	"sync/atomic"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// maxResends bounds how often one call is sent again because servers left their connections or refused its stream.
const maxResends = 3

// Slot carries one call at a time. Its methods are for its Way, on the goroutine that reports to it.
type Slot struct {
	t       *Transport
	lane    *lane
	way     Way
	track   int
	conn    atomic.Pointer[h2.Conn] // where the call was sent last
	call    *service.Call
	resends int
	room    int64        // bytes that the response of the call in flight may still have
	held    budget.Share // of the messages of that response
	keeps   bool         // the sink keeps them until the call ends
}

func newSlot(t *Transport, l *lane, track int) *Slot {
	s := &Slot{t: t, lane: l, track: track, held: t.srv.held.Share(), keeps: service.Keeps(t.sink)}
	s.way = t.way(s)
	return s
}

// Call is the call in flight; nil when there is none.
func (s *Slot) Call() *service.Call { return s.call }

// Track is the index of the slot's track. Slots of one track are on one lane, and their ways may share a stream: their
// calls are then begun in the order in which they are sent.
func (s *Slot) Track() int { return s.track }

// Later runs fn where ends are reported: on a goroutine of its own, while no other call of the lane ends. A way uses it
// to end a call without a word from the wire.
func (s *Slot) Later(fn func()) {
	s.t.wg.Go(func() {
		s.lane.lock.Lock()
		defer s.lane.lock.Unlock()
		fn()
	})
}

// begin takes a call in.
func (s *Slot) begin(c *service.Call, now int64) {
	s.call, s.resends = c, 0
	c.Err = nil
	r := &c.Rec
	r.Class, r.First, r.End, r.In, r.Responses, r.Late = record.OK, 0, 0, 0, 0, 0
	r.Flags &^= record.EmptyFinal
	r.Sent = now
	s.room = s.t.srv.limit
	s.held.Release()
	s.way.Begin(c)
	r.Written = clock.Now()
}

// open sends the call on c. It returns false where c takes no more calls.
func (s *Slot) open(c *h2.Conn) bool {
	if s.conn.Load() != c {
		s.conn.Store(c)
	}
	return s.way.Open(c)
}

// Answered notes that the server has answered: the connection works.
func (s *Slot) Answered() { s.lane.ends++ }

// Resend sends the call once more where the error says that the server has not looked at it. It reports whether
// it did so.
func (s *Slot) Resend(err error) bool {
	if s.resends >= maxResends || !retriable(err) {
		return false
	}
	s.resends++
	s.lane.send(s)
	// The goroutine that is here belongs to the connection that ended: it will not write for another one.
	if c := s.lane.conn.Load(); c != nil {
		c.Flush()
	}
	return true
}

// Take counts one message of the response of the call in flight. It returns the failure of the call where its messages
// are above the limit all together.
func (s *Slot) Take(bytes int) *service.Error {
	s.room -= int64(bytes) + service.EventCost
	if s.keeps && !s.held.Hold(s.t.srv.limit-s.room) {
		return s.t.srv.errNoRoom(&s.held)
	}
	if s.room >= 0 || s.call.Rec.In == uint64(bytes) { // the limit of one message is the wire's
		return nil
	}
	return s.t.srv.errTooLarge()
}

// Failure turns an error of the wire into the failure of a call.
func (s *Slot) Failure(err error) *service.Error { return failure(service.OpInfer, s.t.srv.addr, err) }

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

// stream is the way of calls that have a stream each.
type stream struct {
	slot   *Slot
	header *h2.Header
	ex     Exchange
	h2     h2.Stream
	msg    h2.Message
	begun  bool // a message of the answer has come
	over   bool // it is above the limit: the rest is not looked at
}

// Begin implements Way.
func (w *stream) Begin(c *service.Call) {
	w.begun, w.over = false, false
	w.msg = w.ex.Render(c)
	w.msg.Last = true
	c.Rec.Out = uint64(len(w.msg.Body) + len(w.msg.Tail))
}

// Open implements Way.
func (w *stream) Open(c *h2.Conn) bool { return c.Open(&w.h2, w.header, w.msg) == nil }

// Cancel implements Way.
func (w *stream) Cancel(cause error) { w.slot.Cancel(&w.h2, cause) }

// OnMessage implements h2.Handler.
func (w *stream) OnMessage(msg []byte, at int64) {
	w.begun = true
	c := w.slot.call
	c.Rec.In += uint64(len(msg))
	if w.over {
		return
	}
	if err := w.slot.Take(len(msg)); err != nil {
		w.over = true
		w.Cancel(err)
		return
	}
	w.ex.Message(c, msg, at)
}

// OnEnd implements h2.Handler.
func (w *stream) OnEnd(end h2.End, at int64) {
	s := w.slot
	if end.Err != nil {
		if w.begun || !s.Resend(end.Err) {
			s.call.Rec.First = w.h2.First()
			s.Finish(s.Failure(end.Err), at)
		}
		return
	}
	s.Answered()
	s.call.Rec.First, s.call.Rec.Late = w.h2.First(), w.h2.Late()
	s.Finish(w.ex.End(s.call, end.Status, end.Message, at), at)
}
