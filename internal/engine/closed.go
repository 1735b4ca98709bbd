package engine

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

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
	e.deal(n, limit)
	e.generation.Add(1)
	for _, s := range e.snapshot()[:n] {
		e.take(s)
	}
	e.tr.Flush()
	return nil
}

// Shares has the limits of closed loads dealt out to that many threads, as the original does: a thread sends no more
// than its share, and the last requests are fewer at a time where one is slow. Otherwise whoever is free takes the next.
func (e *Engine) Shares(threads int) { e.shares = threads }

// deal gives each slot its thread's part of the limit. Slot i is on thread i mod threads.
func (e *Engine) deal(n, limit int) {
	threads := min(e.shares, n)
	var quotas []atomic.Int64
	if limit > 0 && threads > 0 {
		quotas = make([]atomic.Int64, threads)
		for i := range quotas {
			quotas[i].Store(int64(share(limit, threads, i)))
		}
	}
	for i, s := range e.snapshot()[:n] {
		if quotas == nil {
			s.quota.Store(nil)
		} else {
			s.quota.Store(&quotas[i%threads])
		}
	}
}

// follow starts the next request of a slot whose request has just ended, after its think time.
func (e *Engine) follow(s *slot) {
	if s.think == nil || e.stopped.Load() || int64(s.call.Slot) >= e.active.Load() || e.spent(s) {
		e.next(s)
		return
	}
	s.ready = s.call.Rec.End + int64(s.think())
	e.pauseSlot(s, time.Duration(s.ready-clock.Now()), e.next)
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
	ready := s.ready
	s.ready = 0
	if e.stopped.Load() || int64(s.call.Slot) >= e.active.Load() || !e.spend(s) {
		if !e.closeFeed(s, s.feed) {
			e.rest(s)
		}
		return
	}
	now := clock.Now()
	due := cmp.Or(ready, now)
	s.begin(due, now)
	s.call.Rec = record.Record{Due: due}
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
	s.begin(0, now)
	s.call.Err = nil
	e.tr.Send(&s.call)
	return true
}

// spent tells whether the slot has nothing more to send.
func (e *Engine) spent(s *slot) bool {
	if q := s.quota.Load(); q != nil {
		return q.Load() <= 0
	}
	return e.limited.Load() && e.budget.Load() <= 0
}

// spend takes one request from the budget.
func (e *Engine) spend(s *slot) bool {
	if q := s.quota.Load(); q != nil {
		return q.Add(-1) >= 0
	}
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
