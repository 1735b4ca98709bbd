package engine

import (
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

var _ service.Sink = (*Engine)(nil)

// Response notes one response of a request. It is called on the transport's goroutines.
func (e *Engine) Response(c *service.Call, payload []byte, at int64, empty bool) {
	if empty {
		c.Rec.Flags |= record.EmptyFinal
	}
	s := c.Owner.(*slot)
	s.signOfLife(at)
	if s.watcher != nil {
		s.watcher.Watch(c, payload, at)
	}
	if !e.cfg.Keep {
		return
	}
	s.events = append(s.events, record.Event{At: at, Size: uint32(len(payload))})
	s.data = append(s.data, payload...)
}

// Done records the end of a request and hands its slot to the loop. It is called on the transport's goroutines.
func (e *Engine) Done(c *service.Call) {
	s := c.Owner.(*slot)
	if c.Rec.Class != record.Timeout {
		s.signOfLife(c.Rec.End)
	}
	if s.listener != nil && c.Rec.Flags&record.Closing == 0 {
		if err := s.listener.Heard(c, s.events, s.data); err != nil && c.Rec.Class == record.OK {
			c.Rec.Class, c.Err = record.Protocol, err
		}
	}
	if len(s.events) == 1 && c.Rec.Responses == 1 && c.Rec.Class == record.OK {
		s.events[0].At = c.Rec.End // a unary response ends with the call: gRPC sends the status after the message
	}
	c.Rec.Slot, c.Rec.ID = uint32(c.Slot), c.Vars.ID
	s.shard.Add(&c.Rec, s.events, s.data)
	s.due.Store(0) // after the record: a request is in Flights until its record is written
	s.clearResponses()
	e.current.Load().loop.ended(s, e.countOutcome(s))
}

// countOutcome counts a failed request, and returns whether failures stop the worker of the slot.
func (e *Engine) countOutcome(s *slot) (stop bool) {
	c := &s.call
	switch {
	case c.Rec.Class == record.OK:
		e.failures.succeeded()
		return false
	case c.Rec.Class == record.Canceled || c.Rec.Flags&record.Closing != 0:
		return false
	}
	e.failures.add(c, s.worker)
	if !e.failures.tooMany(c.Rec.Class) && !e.cfg.StopOnFailure {
		return false
	}
	e.callOff()
	return true
}

// callOff closes Failed: the owner of the load is to stop it. Other workers go on until then, so that the report can tell
// one broken request from a broken server.
func (e *Engine) callOff() {
	e.failures.once.Do(func() { close(e.failures.failed) })
	e.notify()
}
