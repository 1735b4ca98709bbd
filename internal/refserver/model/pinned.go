package model

import (
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// pinned responds to every request exactly a fixed time after it was received, for any number of requests. Tests compare measured
// latencies with it. Each request is a separate execution.
type pinned struct {
	*runner
	delay time.Duration
	mu    sync.Mutex // the instance runs one request at a time; only the waiting is parallel
}

// newPinned makes a scheduler that delays every response.
func newPinned(x *runner, delay time.Duration) *pinned {
	return &pinned{runner: x, delay: delay}
}

// enqueue executes at once and responds when the delay has passed.
func (p *pinned) enqueue(r *infer.Request) error {
	p.running.Add(1)
	r.Queued = time.Now()
	p.mu.Lock()
	e := p.begin(p.instances[0], []*infer.Request{r})
	p.mu.Unlock()
	p.clock.At(r.Received.Add(p.delay), func() {
		defer p.running.Done()
		p.finish(e, time.Now())
	})
	return nil
}

// close waits for responses that are not sent yet.
func (p *pinned) close() {
	p.cancel()
	p.running.Wait()
}
