package model

import (
	"slices"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
)

// pool is one queue before all instances of a model. Without dynamic batching every request is an execution of its own.
// With it, an idle instance takes as many waiting requests as fit: at once when no queue delay is configured, else it
// waits for a preferred size until the oldest has waited that long.
type pool struct {
	*runner
	rule rule

	mu     sync.Mutex
	bell   bell
	queue  []*infer.Request // in order of arrival
	closed bool
	loops  sync.WaitGroup
}

// rule is the part of the configuration that forms batches.
type rule struct {
	max       int
	preferred []int
	delay     time.Duration
	waiting   int // most requests that may wait; 0 for no limit
}

func newRule(cfg *kserve.ModelConfig) rule {
	dyn := cfg.GetDynamicBatching()
	if dyn == nil || cfg.GetMaxBatchSize() < 1 {
		return rule{max: 1}
	}
	r := rule{
		max: int(cfg.GetMaxBatchSize()), delay: time.Duration(dyn.GetMaxQueueDelayMicroseconds()) * time.Microsecond, waiting: int(dyn.GetDefaultQueuePolicy().GetMaxQueueSize()),
	}
	for _, n := range dyn.GetPreferredBatchSize() {
		r.preferred = append(r.preferred, int(n))
	}
	return r
}

// newPool starts a pool.
func newPool(x *runner) *pool {
	p := &pool{runner: x, rule: newRule(x.Config)}
	p.bell = bell{Cond: sync.NewCond(&p.mu), clock: p.clock}
	for _, inst := range x.instances {
		p.loops.Go(func() {
			for batch := p.next(); batch != nil; batch = p.next() {
				p.run(inst, batch)
			}
		})
	}
	return p
}

// enqueue puts the request behind all others.
func (p *pool) enqueue(r *infer.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errStopping
	}
	if limit := p.rule.waiting; limit > 0 && len(p.queue) >= limit {
		p.Counters.Failure(time.Since(r.Received), Rejected)
		return infer.Errorf(infer.Unavailable, "the queue of model '%s' is full: %d requests wait", p.Config.GetName(), limit)
	}
	r.Queued = time.Now()
	p.queue = append(p.queue, r)
	p.Counters.Waiting(1)
	p.bell.Signal()
	return nil
}

// next waits until there is a batch to run; nil ends the instance.
func (p *pool) next() []*infer.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		p.dropGone()
		now := time.Now()
		n, wait := p.rule.form(p.queue, now)
		if n > 0 {
			batch := slices.Clone(p.queue[:n])
			p.queue = slices.Delete(p.queue, 0, n)
			p.Counters.Waiting(-int64(n))
			return batch
		}
		if p.closed {
			return nil
		}
		if wait > 0 {
			p.bell.ringAt(now.Add(wait))
		}
		p.bell.Wait()
	}
}

// dropGone drops requests whose client has gone.
func (p *pool) dropGone() {
	p.queue = slices.DeleteFunc(p.queue, func(r *infer.Request) bool {
		gone := r.Done()
		if gone {
			p.refuse(r, Canceled, infer.Errorf(infer.Canceled, "the client has gone"))
		}
		return gone
	})
}

// form decides how many requests from the front of the queue run now. If n is 0, wait is when to check again; 0 means that only a
// new request can change anything.
func (r *rule) form(queue []*infer.Request, now time.Time) (n int, wait time.Duration) {
	if len(queue) == 0 {
		return 0, 0
	}
	size, preferredAt, full := 0, 0, false
	for i, q := range queue {
		batch := max(q.Batch, 1)
		if i > 0 && (size+batch > r.max || !fit(queue[0], q)) {
			full = true
			break
		}
		size += batch
		n = i + 1
		if slices.Contains(r.preferred, size) {
			preferredAt = n
		}
	}
	oldest := now.Sub(queue[0].Queued)
	switch {
	case r.delay == 0 || oldest >= r.delay || full || size >= r.max:
		return n, 0
	case preferredAt > 0:
		return preferredAt, 0
	case len(r.preferred) > 0 && size >= slices.Max(r.preferred):
		return n, 0
	}
	return 0, r.delay - oldest
}

// fit reports whether two requests can be in one batch: same inputs, same shapes beyond the batch.
func fit(a, b *infer.Request) bool {
	if len(a.Inputs) != len(b.Inputs) {
		return false
	}
	for i := range a.Inputs {
		x, y := a.Inputs[i].Shape, b.Input(a.Inputs[i].Name)
		if y == nil || len(x) != len(y.Shape) || len(x) > 0 && !slices.Equal(x[1:], y.Shape[1:]) {
			return false
		}
	}
	return true
}

// close ends the pool when all waiting requests have run.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.cancel() // scripted delays end at once
	p.bell.Broadcast()
	p.mu.Unlock()
	p.loops.Wait()
	p.running.Wait()
}
