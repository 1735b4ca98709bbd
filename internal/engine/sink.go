package engine

import (
	"unsafe"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

var _ service.Sink = (*Engine)(nil)

// Response notes one response of a call. It is called on the transport's goroutines.
func (e *Engine) Response(c *service.Call, payload []byte, at int64, empty bool) {
	if empty {
		c.Rec.Flags |= record.EmptyFinal
	}
	s := c.Owner.(*slot)
	s.alive(at)
	if period := e.period.Load(); period > 0 {
		if s.answers++; s.answers == period {
			e.reached.Add(1)
			e.notify()
		}
	}
	if s.watcher != nil {
		s.watcher.Watch(c, payload, at)
	}
	if !e.cfg.Keep {
		return
	}
	s.events = append(s.events, record.Event{At: at, Size: uint32(len(payload))})
	s.data = append(s.data, payload...)
}

// Done records the end of a call and goes on: in closed loop with the slot's next request, in open loop by
// giving the slot back. It is called on the transport's goroutines.
func (e *Engine) Done(c *service.Call) {
	s := c.Owner.(*slot)
	if c.Rec.Class != record.Timeout {
		s.alive(c.Rec.End)
	}
	if s.listener != nil && c.Rec.Flags&record.Closing == 0 {
		s.listen()
	}
	if len(s.events) == 1 && c.Rec.Responses == 1 && c.Rec.Class == record.OK {
		s.events[0].At = c.Rec.End // a single answer is one when the call is complete, and with gRPC the status comes after it
	}
	c.Rec.Slot = uint32(c.Slot)
	s.shard.Add(&c.Rec, s.events, s.data)
	s.due.Store(0) // after the record: a request is in Flights until its record is there
	s.letGo()
	if c.Rec.Class == record.OK {
		if e.unbroken.Load() != 0 {
			e.unbroken.Store(0)
			e.refused.Store(0)
		}
	} else if e.fail(c) {
		if !e.closed.Load() {
			e.turns.done(s.turn) // wakes the dispatcher, which sees that its thread has ended
		}
		e.rest(s)
		return
	}
	if e.closed.Load() {
		e.follow(s)
		return
	}
	s.since.Store(0)
	if c.Rec.Flags&record.Closing == 0 {
		e.turns.done(s.turn)
	}
	e.free.push(s)
	e.running.Add(-1) // last: with nothing in flight the next load may begin, and make these anew
	e.notify()
}

// maxKept is how many bytes of room for responses an idle slot keeps: there may be thousands.
const maxKept = 1 << 20

// letGo makes room for the responses of the next call.
func (s *slot) letGo() {
	s.events, s.data = s.events[:0], s.data[:0]
	if cap(s.data) > maxKept {
		s.data = nil
	}
	if cap(s.events) > maxKept/int(unsafe.Sizeof(record.Event{})) {
		s.events = nil
	}
}

// fail counts a failed call and tells whether its slot must rest for good. The other slots go on until the owner
// stops the load, as the original's threads do: each shows its own failure.
func (e *Engine) fail(c *service.Call) bool {
	if c.Rec.Class == record.Canceled || c.Rec.Flags&record.Closing != 0 {
		return false
	}
	at, turn := c.Slot, c.Owner.(*slot).turn
	if !e.closed.Load() {
		at = e.groups.of[turn]
	}
	e.failures.add(c, at)
	if gone := e.gone(c.Rec.Class); !e.cfg.StopOnFailure && e.unbroken.Add(1) < GiveUpAfter && !gone {
		return false
	}
	if !e.closed.Load() {
		e.groups.end(turn)
	}
	e.failOnce.Do(func() { close(e.failed) })
	e.notify()
	return true
}

// gone tells whether the server has been out of reach for long enough to call it gone. A connection that breaks says
// nothing: the next attempt will.
func (e *Engine) gone(class record.Class) bool {
	if class == record.Server || class == record.Mismatch {
		e.refused.Store(0)
	}
	if class != record.Connect {
		return false
	}
	now := clock.Now()
	since := e.refused.Load() // once: another goroutine may set it to 0 at any time
	if since == 0 {
		e.refused.CompareAndSwap(0, now)
		return false
	}
	return now-since >= int64(GoneAfter)
}
