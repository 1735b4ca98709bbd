package sched

import (
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/refserver/backend"
	"github.com/redline-bench/redline/internal/refserver/infer"
)

// Pinned responds to every request exactly a fixed time after it was received, for any number of requests. Tests compare measured
// latencies with it. Each request is a separate execution.
type Pinned struct {
	*runner
	delay time.Duration

	mu   sync.Mutex // the instance runs one request at a time; only the waiting is parallel
	inst backend.Instance
}

// NewPinned makes a scheduler that delays every response.
func NewPinned(s Setup, delay time.Duration) *Pinned {
	return &Pinned{runner: newRunner(s), delay: delay, inst: s.Instances[0]}
}

// Enqueue executes at once and responds when the delay has passed.
func (p *Pinned) Enqueue(r *infer.Request) error {
	p.running.Add(1)
	it := &item{req: r, queued: time.Now()}
	e := &execution{start: it.queued, size: max(r.Batch, 1), left: 1}
	var a answer
	p.mu.Lock()
	e.inputEnd = time.Now()
	p.inst.Execute(p.ctx, []*backend.Job{{Request: r, Answer: a.take}})
	p.mu.Unlock()
	p.Clock.At(r.Received.Add(p.delay), func() {
		defer p.running.Done()
		p.finish(e, []*item{it}, []answer{a}, time.Now())
	})
	return nil
}

// Close waits for responses that are not sent yet.
func (p *Pinned) Close() {
	p.cancel()
	p.running.Wait()
}
