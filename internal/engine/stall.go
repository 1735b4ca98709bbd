package engine

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
)

// StallAfter is the least time without a sign of life from the server after which a load is given up. Slow responses are
// legitimate, so StallAfter is longer than the time that a server is usually given.
const StallAfter = 30 * time.Minute

// StallError means that the load was given up because the server gave no sign of life: no response came, and requests ended
// only by their timeouts.
type StallError struct {
	For      time.Duration
	InFlight int
}

func (e *StallError) Error() string {
	return fmt.Sprintf("waited %s for the server: no response came, and requests ended only by timeout, with %d in flight; to wait longer, set a longer request timeout",
		e.For, e.InFlight)
}

// watchers look at the slots every so often. That costs far less than a timer per request.
type watchers struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	stalled atomic.Pointer[StallError]
}

func (e *Engine) startWatchers(ctx context.Context) {
	w := &e.watchers
	ctx, w.cancel = context.WithCancel(ctx)
	w.running.Go(func() { e.watchStall(ctx) })
	if e.cfg.Timeout > 0 {
		w.running.Go(func() { e.watchDeadlines(ctx) })
	}
}

func (w *watchers) stop() {
	w.cancel()
	w.running.Wait()
}

// patience is how long the engine waits for a sign of life.
func (c *Config) patience() time.Duration {
	if c.Patience > 0 {
		return c.Patience
	}
	return max(StallAfter, c.Timeout)
}

// signEvery is how precisely signs of life are noted, in nanoseconds: not each response needs a store.
const signEvery = int64(time.Second)

// signOfLife notes a sign of life from the server.
func (s *slot) signOfLife(at int64) {
	if at-s.sign.Load() >= signEvery {
		s.sign.Store(at)
	}
}

// watchStall gives the load up when the server gives no sign of life while requests are in flight.
func (e *Engine) watchStall(ctx context.Context) {
	patience := e.cfg.patience()
	tick := time.NewTicker(patience / 60)
	defer tick.Stop()
	last := clock.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, flying := clock.Now(), e.InFlight()
		for _, s := range e.snapshot() {
			last = max(last, s.sign.Load())
		}
		if flying == 0 {
			last = now
		}
		if now-last >= int64(patience) {
			e.giveUp(&StallError{For: patience, InFlight: flying})
			return
		}
	}
}

// giveUp ends the load and times out what is in flight. It closes Failed first: whoever sees that the load has ended also sees why.
func (e *Engine) giveUp(why *StallError) {
	e.watchers.stalled.Store(why)
	e.callOff()
	e.halt()
	e.timeOut(math.MaxInt64)
}

// GivenUp is why the load was given up if the server gave no sign of life; else nil.
func (e *Engine) GivenUp() *StallError { return e.watchers.stalled.Load() }
