package engine

import (
	"context"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
)

// Closed keeps n requests in flight until Stop, or until limit requests were started when limit is not 0. It
// returns once all n are on their way. Called again with another n it raises or lowers the load while it runs.
func (e *Engine) Closed(ctx context.Context, n int, limit int) error {
	if err := e.grow(ctx, n); err != nil {
		return err
	}
	e.limited.Store(limit > 0)
	e.budget.Store(int64(limit))
	e.stopped.Store(false)
	e.closed.Store(true)
	e.active.Store(int64(n))
	e.generation.Add(1)
	for _, s := range e.snapshot()[:n] {
		e.take(s)
	}
	e.tr.Flush()
	return nil
}

// next starts the following request of a slot that is held by the caller, or lets the slot rest.
func (e *Engine) next(s *slot) {
	resting := e.stopped.Load() || int64(s.call.Slot) >= e.active.Load()
	if !resting {
		e.refeed(s)
		if s.listener != nil && e.silent(s) {
			return
		}
	}
	e.speak(s)
}

// speak sends the next request of a slot where the load allows one.
func (e *Engine) speak(s *slot) {
	if e.stopped.Load() || int64(s.call.Slot) >= e.active.Load() || !e.spend() {
		if !e.closeFeed(s, s.feed) {
			e.rest(s)
		}
		return
	}
	now := clock.Now()
	s.since.Store(now)
	s.call.Rec = record.Record{Due: now}
	s.call.Err = nil
	s.feed.Next(&s.call)
	e.tr.Send(&s.call)
}

// closeFeed sends the request that ends what the feed has open, if anything.
func (e *Engine) closeFeed(s *slot, f Feed) bool {
	c, ok := f.(Closer)
	now := clock.Now()
	s.call.Rec = record.Record{Due: now, Flags: record.Closing}
	if !ok || !c.Close(&s.call) {
		return false
	}
	s.since.Store(now)
	s.call.Err = nil
	e.tr.Send(&s.call)
	return true
}

// spend takes one request from the budget.
func (e *Engine) spend() bool {
	if !e.limited.Load() || e.budget.Add(-1) >= 0 {
		return true
	}
	e.budget.Add(1) // more may be added later, and must not be short by this
	return false
}

// rest marks the slot idle and tells a waiter.
func (e *Engine) rest(s *slot) {
	s.since.Store(0)
	e.running.Add(-1)
	e.notify()
}

func (e *Engine) notify() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// refeed gets the slot's feed where the level has changed.
func (e *Engine) refeed(s *slot) {
	if g := e.generation.Load(); g != s.generation {
		s.generation = g
		s.feed = e.cfg.Feed(s.call.Slot, int(e.active.Load()))
		s.listener, _ = s.feed.(Listener)
		s.watcher, _ = s.feed.(Watcher)
	}
}
