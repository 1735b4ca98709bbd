package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/clock"
)

// ErrEarlyEnd means that a request ended before it had as many responses as the period asks for.
var ErrEarlyEnd = errors.New("a request ended before the request period was reached: " +
	"the period must be at most the number of responses that each request gets")

// PeriodicLoad raises the number of requests in flight step by step: each slot sends one streamed request.
type PeriodicLoad struct {
	Start, End, Step int
	// Period is how many responses each request of the last step must have had before the next step begins.
	Period int
}

// Periodic carries out the load and returns when the last request has ended.
func (e *Engine) Periodic(ctx context.Context, load PeriodicLoad) error {
	e.closed.Store(true)
	e.stopped.Store(false)
	e.period.Store(int64(load.Period))
	e.reached.Store(0)
	defer e.period.Store(0)
	launched := 0
	for next := load.Start; launched < load.End; next = load.Step {
		n := min(next, load.End-launched)
		if err := e.launch(ctx, launched, n); err != nil {
			return err
		}
		launched += n
		for launched < load.End && e.reached.Load() < int64(launched) {
			if e.calledOff() {
				return e.Finished(ctx)
			}
			if err := e.periodicState(ctx, launched); err != nil {
				return err
			}
		}
	}
	if err := e.Finished(ctx); err != nil {
		return err
	}
	return e.periodicState(ctx, launched)
}

// periodicState waits a moment and tells what has gone wrong.
func (e *Engine) periodicState(ctx context.Context, launched int) error {
	if e.calledOff() {
		return nil // the failure itself is the news
	}
	if e.running.Load() == 0 && e.reached.Load() < int64(launched) {
		return ErrEarlyEnd
	}
	return e.pause(ctx)
}

// calledOff tells whether failures call for the end of the load.
func (e *Engine) calledOff() bool {
	select {
	case <-e.failed:
		return true
	default:
		return false
	}
}

// launch starts one request on each of n more slots.
func (e *Engine) launch(ctx context.Context, from, n int) error {
	if err := e.grow(ctx, from+n); err != nil {
		return err
	}
	e.active.Store(int64(from + n))
	e.generation.Add(1)
	quotas := make([]atomic.Int64, n)
	for i, s := range e.snapshot()[from : from+n] {
		s.answers = 0
		quotas[i].Store(1) // a slot whose request has just ended must not send that of another
		s.quota.Store(&quotas[i])
		s.since.Store(clock.Now())
		e.running.Add(1)
		e.next(s)
	}
	e.tr.Flush()
	return nil
}
