package sched

import (
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// Pinned responds to every request exactly a fixed time after it was received, for any number of requests. Tests compare measured
// latencies with it. Each request is a separate execution.
type Pinned struct {
	*runner
	delay time.Duration
	mu    sync.Mutex // the instance runs one request at a time; only the waiting is parallel
}

// NewPinned makes a scheduler that delays every response.
func NewPinned(s Setup, delay time.Duration) *Pinned {
	return &Pinned{runner: newRunner(s), delay: delay}
}

// Enqueue executes at once and responds when the delay has passed.
func (p *Pinned) Enqueue(r *infer.Request) error {
	p.running.Add(1)
	r.Queued = time.Now()
	p.mu.Lock()
	e := p.begin(p.Instances[0], []*infer.Request{r})
	p.mu.Unlock()
	p.Clock.At(r.Received.Add(p.delay), func() {
		defer p.running.Done()
		p.finish(e, time.Now())
	})
	return nil
}

// Close waits for responses that are not sent yet.
func (p *Pinned) Close() {
	p.cancel()
	p.running.Wait()
}
