package engine

import (
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

var _ service.Sink = (*Engine)(nil)

// Response notes one response of a call. It is called on the transport's goroutines.
func (e *Engine) Response(c *service.Call, payload []byte, at int64, empty bool) {
	if empty {
		c.Rec.Flags |= record.EmptyFinal
	}
	if !e.cfg.Keep {
		return
	}
	s := c.Owner.(*slot)
	s.events = append(s.events, record.Event{At: at, Size: uint32(len(payload))})
	s.data = append(s.data, payload...)
}

// Done records the end of a call and goes on: in closed loop with the slot's next request, in open loop by
// giving the slot back. It is called on the transport's goroutines.
func (e *Engine) Done(c *service.Call) {
	s := c.Owner.(*slot)
	s.shard.Add(&c.Rec, s.events, s.data)
	s.events, s.data = s.events[:0], s.data[:0]
	if c.Rec.Class == record.OK {
		if e.unbroken.Load() != 0 {
			e.unbroken.Store(0)
		}
	} else {
		e.fail(c)
	}
	if e.closed.Load() {
		c.Rec = record.Record{}
		e.next(s)
		return
	}
	e.rest(s)
	e.free.push(s)
}

// fail counts a failed call and stops the load when that is due.
func (e *Engine) fail(c *service.Call) {
	if c.Rec.Class == record.Canceled {
		return
	}
	e.failures.add(c)
	if e.cfg.StopOnFailure || e.unbroken.Add(1) >= GiveUpAfter {
		e.Stop()
		e.failOnce.Do(func() { close(e.failed) })
		e.notify()
	}
}
