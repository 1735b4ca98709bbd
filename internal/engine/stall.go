package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
)

// StallAfter is the least time without a sign of life from the server after which a load is given up. Slow answers are
// legitimate, so it is longer than any that a server is usually given.
const StallAfter = 30 * time.Minute

// StallError means that the server gave no sign of life for so long that the load was given up: no response came, and no
// request ended but by its timeout.
type StallError struct {
	For      time.Duration
	InFlight int
}

func (e *StallError) Error() string {
	return fmt.Sprintf("waited %s for the server: no response came and no request ended, with %d in flight; a request timeout of more than that waits longer",
		e.For, e.InFlight)
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

// alive notes a sign of life from the server.
func (s *slot) alive(at int64) {
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
		now, flying := clock.Now(), 0
		for _, s := range e.snapshot() {
			if s.since.Load() > 0 {
				flying++
			}
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

// giveUp ends the load and cuts what is in flight.
func (e *Engine) giveUp(why *StallError) {
	e.stalled.Store(why)
	e.Stop()
	for _, s := range e.snapshot() {
		if since := s.since.Load(); since > 0 {
			e.cutSince(s, since, record.Timeout)
		}
	}
	e.failOnce.Do(func() { close(e.failed) })
	e.notify()
}

// GivenUp is why the load was given up where the server gave no sign of life; else nil.
func (e *Engine) GivenUp() *StallError { return e.stalled.Load() }
