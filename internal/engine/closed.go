package engine

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
)

// Closed is the closed loop: it keeps Concurrency requests in flight until Stop, or until Limit requests were sent. A slot
// sends its next request when the last one has ended, after its think time. Another Closed loop raises or lowers the load
// while it runs.
type Closed struct {
	Concurrency int
	// Whole is the concurrency of the whole load, of which other processes have the rest; 0 is Concurrency.
	Whole int
	// Limit is how many requests are sent in all; 0 is no limit.
	Limit int
	// LimitParts splits Limit into so many equal parts; slot i takes its requests from part i % LimitParts. With 0 all slots
	// share one part.
	LimitParts int
	// Tracks makes requests of slots i, i+Tracks, i+2·Tracks, ... reach the server in order; 0 does not. Every load of an
	// engine must have the same number.
	Tracks int

	e     *Engine
	parts []atomic.Int64 // what is left of each part of the limit; nil is no limit
}

func (c *Closed) prepare(ctx context.Context, e *Engine) error {
	c.e = e
	if c.Tracks > 0 {
		if err := e.track(c.Tracks); err != nil {
			return err
		}
	}
	if c.Limit > 0 {
		c.parts = make([]atomic.Int64, max(1, min(c.LimitParts, c.Concurrency)))
		for i := range c.parts {
			c.parts[i].Store(int64(part(c.Limit, len(c.parts), i)))
		}
	}
	return e.grow(ctx, c.Concurrency)
}

func (c *Closed) begin(context.Context) {
	for _, s := range c.e.snapshot()[:c.Concurrency] {
		c.wake(s)
	}
	c.e.tr.Flush()
}

// wake starts a parked slot. It returns false if the slot is active.
func (c *Closed) wake(s *slot) bool {
	if !s.since.CompareAndSwap(0, clock.Now()) {
		return false
	}
	c.e.active.Add(1)
	c.next(s, 0)
	return true
}

func (c *Closed) ended(s *slot, stop bool) {
	if stop {
		c.e.park(s)
		return
	}
	c.next(s, s.call.Rec.End)
}

// next sends the slot's next request, now or after a pause. end is when the last request ended; 0 means that the slot was
// parked and needs no think time.
func (c *Closed) next(s *slot, end int64) {
	if !c.uses(s) {
		c.finish(s)
		return
	}
	if s.loop != c {
		s.loop = c
		s.use(c.e.makeSource(s.call.Slot, cmp.Or(c.Whole, c.Concurrency)), s.call.Slot)
	}
	if !c.pauseOrPark(s, end) {
		c.send(s)
	}
}

// uses tells whether the slot may send.
func (c *Closed) uses(s *slot) bool { return s.call.Slot < c.Concurrency && !c.e.stopped.Load() }

// send sends the slot's next request if the limit allows it.
func (c *Closed) send(s *slot) {
	ready := s.ready
	s.ready = 0
	if !c.uses(s) || !c.spend(s) {
		c.finish(s)
		return
	}
	now := clock.Now()
	c.e.send(s, cmp.Or(ready, now), now, 0)
}

// finish closes what the slot's source has open, or parks the slot. If another Closed loop has begun and found the slot
// active, the slot continues in that loop.
func (c *Closed) finish(s *slot) {
	c.e.closeOrPark(s)
	if now, ok := c.e.current.Load().loop.(*Closed); ok && now != c {
		now.wake(s)
	}
}

// spent tells whether nothing is left of the slot's part of the limit.
func (c *Closed) spent(s *slot) bool {
	return c.parts != nil && c.parts[s.call.Slot%len(c.parts)].Load() <= 0
}

// spend takes one request from the slot's part of the limit.
func (c *Closed) spend(s *slot) bool {
	return c.parts == nil || c.parts[s.call.Slot%len(c.parts)].Add(-1) >= 0
}

// pauseOrPark delays the slot's next request; it returns false if the slot may send now.
func (c *Closed) pauseOrPark(s *slot, end int64) bool {
	var wait time.Duration
	if s.listener != nil {
		var ok bool
		if wait, ok = c.askPause(s); !ok {
			return true
		}
	}
	if s.think != nil && end > 0 && !c.spent(s) {
		s.ready = end + int64(wait+s.think())
		wait = time.Duration(s.ready - clock.Now())
	}
	if wait <= 0 {
		return false
	}
	c.pause(s, wait)
	return true
}

// askPause asks the slot's source how long to wait before the next request. If the source has none, askPause parks the slot
// and returns false.
func (c *Closed) askPause(s *slot) (wait time.Duration, ok bool) {
	listener := s.listener // once the slot is parked, another goroutine may wake it and change its source
	for wait, ok = listener.Pause(); !ok; {
		// A source that gets a request while its slot is being parked finds the slot active. So the slot asks once more
		// after it is parked.
		s.since.Store(0)
		if wait, ok = listener.Pause(); !ok || !s.since.CompareAndSwap(0, clock.Now()) {
			c.e.active.Add(-1)
			c.e.notify()
			return 0, false
		}
	}
	return wait, true
}

// pause sends the slot's next request after a time, or ends the slot when the load is stopped before. Nothing is in flight
// meanwhile.
func (c *Closed) pause(s *slot, wait time.Duration) {
	s.since.Store(paused)
	stored := make(chan struct{})
	t := time.AfterFunc(wait, func() {
		<-stored // otherwise the timer of the next pause could be stored first and then overwritten by this one
		c.e.resume(s)
		c.e.tr.Flush()
	})
	s.timer.Store(t)
	close(stored)
	if c.e.stopped.Load() && t.Stop() { // Stop came before it could see the pause
		c.e.resume(s)
		c.e.tr.Flush()
	}
}

// resume ends the pause of a slot. Meanwhile another Closed loop may have begun.
func (e *Engine) resume(s *slot) {
	c, ok := e.current.Load().loop.(*Closed)
	switch {
	case !ok:
		e.park(s)
	case s.loop != c:
		c.next(s, 0)
	default:
		c.send(s)
	}
}

// endPauses ends the pauses of a load that is stopped.
func (e *Engine) endPauses() {
	for _, s := range e.snapshot() {
		if t := s.timer.Load(); t != nil && t.Stop() {
			e.resume(s)
		}
	}
	e.tr.Flush()
}

// part is how much of n the i-th of several equal parts has; the first parts have one more where n cannot be divided.
func part(n, parts, i int) int {
	if i < n%parts {
		return n/parts + 1
	}
	return n / parts
}
