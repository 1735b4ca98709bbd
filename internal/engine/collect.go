package engine

import (
	"time"

	"github.com/redline-bench/redline/internal/record"
)

// collector passes records to Config.Collect when the shards fill up; Sync does it before. The memory for records is bounded:
// ends of requests wait while Config.Collect is too slow.
type collector struct {
	backlog *record.Backlog // what the shards hold
	busy    chan struct{}   // a lock; tests in simulated time need a channel here
	quit    chan struct{}
	ended   chan struct{}
}

func (e *Engine) startCollector() {
	if e.cfg.Collect == nil {
		e.cfg.Collect = func(*record.Record, []record.Event, []byte) {}
	}
	c := &e.collector
	c.backlog = record.NewBacklog()
	c.busy, c.quit, c.ended = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(c.ended)
		for {
			select {
			case <-c.quit:
				return
			case <-c.backlog.Full():
				e.Sync(func() {})
			}
		}
	}()
}

// stopCollector collects what is left.
func (e *Engine) stopCollector() {
	close(e.collector.quit)
	<-e.collector.ended
	e.Sync(func() {})
}

// Sync collects the records of all requests that have ended, then calls fn. Config.Collect is not called while fn runs, so
// fn may use what Collect writes. fn must not call Sync, and it must not wait for a request.
func (e *Engine) Sync(fn func()) {
	e.collector.busy <- struct{}{}
	defer func() { <-e.collector.busy }()
	e.mu.Lock()
	shards := e.shards
	e.mu.Unlock()
	for _, s := range shards {
		s.Drain(e.cfg.Collect)
	}
	fn()
}

// Stalled is how long ends of requests waited, all in all, because Config.Collect was too slow.
func (e *Engine) Stalled() time.Duration { return e.collector.backlog.Stalled() }
