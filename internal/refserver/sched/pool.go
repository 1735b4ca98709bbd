package sched

import (
	"slices"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/backend"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/stats"
)

// Pool is one queue before all instances of a model. Without dynamic batching every request is an execution of its own.
// With it, an idle instance takes as many waiting requests as fit: at once when no queue delay is configured, else it
// waits for a preferred size until the oldest has waited that long.
type Pool struct {
	*runner
	rule  rule
	order *order // nil if responses may overtake each other

	mu     sync.Mutex
	bell   bell
	queue  []*item // in order of priority, then of arrival; late ones at the end
	closed bool
	loops  sync.WaitGroup
}

// rule is the part of the configuration that forms batches.
type rule struct {
	max       int
	preferred []int
	largest   int // of preferred
	delay     time.Duration
	ragged    bool
	levels    uint64
	level     uint64 // of requests that name none
	policy    map[uint64]*kserve.ModelQueuePolicy
	fallback  *kserve.ModelQueuePolicy
}

func newRule(cfg *kserve.ModelConfig) rule {
	dyn := cfg.GetDynamicBatching()
	r := rule{max: 1, ragged: true}
	if dyn == nil || cfg.GetMaxBatchSize() < 1 {
		r.largest = 1
		return r
	}
	r.max = int(cfg.GetMaxBatchSize())
	r.largest = r.max
	for _, n := range dyn.GetPreferredBatchSize() {
		r.preferred = append(r.preferred, int(n))
	}
	if len(r.preferred) > 0 {
		r.largest = slices.Max(r.preferred)
	}
	for _, in := range cfg.GetInput() {
		r.ragged = r.ragged && in.GetAllowRaggedBatch()
	}
	r.delay = time.Duration(dyn.GetMaxQueueDelayMicroseconds()) * time.Microsecond
	r.levels, r.level = dyn.GetPriorityLevels(), dyn.GetDefaultPriorityLevel()
	r.policy, r.fallback = dyn.GetPriorityQueuePolicy(), dyn.GetDefaultQueuePolicy()
	return r
}

// NewPool starts a pool.
func NewPool(s Setup) *Pool {
	p := &Pool{runner: newRunner(s), rule: newRule(s.Config)}
	if s.Config.GetDynamicBatching().GetPreserveOrdering() && !p.decoupled {
		p.order = &order{}
	}
	p.bell = newBell(&p.mu, p.Clock)
	for _, inst := range s.Instances {
		p.loops.Go(func() { p.serve(inst) })
	}
	return p
}

// Enqueue puts the request behind all of its priority.
func (p *Pool) Enqueue(r *infer.Request) error {
	it := &item{req: r, queued: time.Now()}
	level := p.levelOf(r)
	policy := p.rule.policyOf(level)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return infer.Errorf(infer.Unavailable, "Server is stopping, scheduler for model has stopped accepting new inference requests")
	}
	if limit := policy.GetMaxQueueSize(); limit > 0 && p.waiting(level) >= int(limit) {
		p.Counters.Failure(time.Since(r.Received), stats.Rejected)
		return infer.Errorf(infer.Unavailable, "%sExceeds maximum queue size", r.Label())
	}
	if p.order != nil {
		p.order.follow(r)
	}
	it.deadline, it.action = deadline(r, policy, it.queued), policy.GetTimeoutAction()
	p.insert(it, level)
	p.Counters.Waiting(1)
	p.bell.Signal()
	return nil
}

func (p *Pool) levelOf(r *infer.Request) uint64 {
	if r.Priority == 0 || r.Priority > p.rule.levels {
		return p.rule.level
	}
	return r.Priority
}

func (r *rule) policyOf(level uint64) *kserve.ModelQueuePolicy {
	if q, ok := r.policy[level]; ok {
		return q
	}
	return r.fallback
}

// deadline is when the request has waited too long: by its own timeout if the model allows that, else by the policy.
func deadline(r *infer.Request, policy *kserve.ModelQueuePolicy, queued time.Time) time.Time {
	limit := time.Duration(policy.GetDefaultTimeoutMicroseconds()) * time.Microsecond
	if policy.GetAllowTimeoutOverride() && r.Timeout > 0 && (limit == 0 || r.Timeout < limit) {
		limit = r.Timeout
	}
	if limit == 0 {
		return time.Time{}
	}
	return queued.Add(limit)
}

func (p *Pool) waiting(level uint64) int {
	n := 0
	for _, it := range p.queue {
		if p.levelOf(it.req) == level {
			n++
		}
	}
	return n
}

func (p *Pool) insert(it *item, level uint64) {
	if p.rule.levels <= 1 {
		p.queue = append(p.queue, it)
		return
	}
	at := len(p.queue)
	for at > 0 && (p.queue[at-1].late || p.levelOf(p.queue[at-1].req) > level) {
		at--
	}
	p.queue = slices.Insert(p.queue, at, it)
}

// serve runs one instance.
func (p *Pool) serve(inst backend.Instance) {
	for {
		batch := p.next()
		if batch == nil {
			return
		}
		p.run(inst, batch)
	}
}

// next waits until there is a batch to run; nil ends the instance.
func (p *Pool) next() []*item {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		now := time.Now()
		p.expire(now)
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

// expire refuses or delays requests that have waited too long, and drops requests whose client has gone.
func (p *Pool) expire(now time.Time) {
	var late []*item
	p.queue = slices.DeleteFunc(p.queue, func(it *item) bool {
		switch {
		case it.req.Done():
			p.refuse(it, stats.Canceled, infer.Errorf(infer.Canceled, ""))
		case it.late || it.deadline.IsZero() || now.Before(it.deadline):
			return false
		case it.action == kserve.ModelQueuePolicy_DELAY:
			it.late = true
			late = append(late, it)
			return true
		default:
			p.refuse(it, stats.Rejected, infer.Errorf(infer.Unavailable, "%sRequest timeout expired", it.req.Label()))
		}
		p.Counters.Waiting(-1)
		return true
	})
	p.queue = append(p.queue, late...)
}

// form decides how many requests from the front of the queue run now. If n is 0, wait is when to check again; 0 means that only a
// new request can change anything.
func (r *rule) form(queue []*item, now time.Time) (n int, wait time.Duration) {
	if len(queue) == 0 {
		return 0, 0
	}
	size, preferredAt, full := 0, 0, false
	for i, it := range queue {
		batch := max(it.req.Batch, 1)
		if i > 0 && (size+batch > r.max || !r.fits(queue[0].req, it.req)) {
			full = true
			break
		}
		size += batch
		n = i + 1
		if slices.Contains(r.preferred, size) {
			preferredAt = n
		}
	}
	oldest := now.Sub(queue[0].queued)
	if r.delay == 0 || oldest >= r.delay || full || size >= r.max {
		return n, 0
	}
	if preferredAt > 0 {
		return preferredAt, 0
	}
	if size >= r.largest {
		return n, 0
	}
	return 0, r.delay - oldest
}

// fits reports whether two requests can be in one batch: same inputs, same shapes beyond the batch.
func (r *rule) fits(a, b *infer.Request) bool {
	if len(a.Inputs) != len(b.Inputs) {
		return false
	}
	for i := range a.Inputs {
		x := &a.Inputs[i]
		y := b.Input(x.Name)
		if y == nil {
			return false
		}
		if !r.ragged && (len(x.Shape) != len(y.Shape) || len(x.Shape) > 0 && !slices.Equal(x.Shape[1:], y.Shape[1:])) {
			return false
		}
	}
	return true
}

// Close ends the pool when all waiting requests have run.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.cancel() // scripted delays end at once
	p.bell.Broadcast()
	p.mu.Unlock()
	p.loops.Wait()
	p.running.Wait()
}
