package model

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/refserver/backend"
	"github.com/redline-bench/redline/internal/refserver/infer"
)

// sequence keeps all requests of a sequence on one instance, in order. Each instance has slots; a live sequence holds
// one until its END has run or it was idle too long. Sequences that find no slot wait in the backlog, oldest first.
// An execution takes at most one request of each slot.
type sequence struct {
	*runner
	idle        time.Duration
	slots       int // of one instance
	batch       int // most requests of one execution
	delay       time.Duration
	utilization float64 // share of slots that end the delay early

	mu        sync.Mutex
	bell      bell
	live      map[string]*chain // by key, until END is enqueued
	instances []*instance
	backlog   []*chain
	closed    bool
	loops     sync.WaitGroup
}

// chain is one sequence.
type chain struct {
	key      string
	queue    []*infer.Request
	instance *instance // nil in the backlog
	last     time.Time
	running  bool
}

// instance is one instance of the model with the sequences that hold its slots.
type instance struct {
	inst   backend.Instance
	chains []*chain
}

// newSequence starts a sequence scheduler.
func newSequence(x *runner) *sequence {
	cfg := x.Config.GetSequenceBatching()
	micros := func(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }
	q := &sequence{runner: x, live: map[string]*chain{}, idle: micros(cfg.GetMaxSequenceIdleMicroseconds()), batch: max(int(x.Config.GetMaxBatchSize()), 1)}
	q.slots, q.delay, q.utilization = q.batch, micros(cfg.GetDirect().GetMaxQueueDelayMicroseconds()), float64(cfg.GetDirect().GetMinimumSlotUtilization())
	if old := cfg.GetOldest(); old != nil {
		q.slots, q.delay, q.utilization = int(old.GetMaxCandidateSequences()), micros(old.GetMaxQueueDelayMicroseconds()), 1
	}
	q.bell = bell{Cond: sync.NewCond(&q.mu), clock: q.clock}
	for _, inst := range x.instances {
		l := &instance{inst: inst}
		q.instances = append(q.instances, l)
		q.loops.Go(func() {
			for chains, requests := q.next(l); requests != nil; chains, requests = q.next(l) {
				q.run(l.inst, requests)
				q.ran(chains, requests)
			}
		})
	}
	return q
}

// enqueue puts the request at the end of its sequence.
func (q *sequence) enqueue(r *infer.Request) error {
	name := q.Config.GetName()
	if r.Sequence.Key() == "0" {
		return infer.Errorf(infer.InvalidArg, "inference request to model '%s' must specify a non-zero or non-empty correlation ID", name)
	}
	if r.Batch > 1 {
		return infer.Errorf(infer.InvalidArg, "inference request to model '%s' must specify batch-size 1 due to requirements of sequence batcher", name)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errStopping
	}
	key := r.Sequence.Key()
	c := q.live[key]
	if c == nil {
		if !r.Sequence.Start {
			return infer.Errorf(infer.InvalidArg, "inference request for sequence %s to model '%s' must specify the START flag on the first request of the sequence", key, name)
		}
		c = &chain{key: key}
		q.live[key] = c
		q.place(c)
	}
	if r.Sequence.End {
		delete(q.live, key)
	}
	r.Queued = time.Now()
	c.last, c.queue = r.Queued, append(c.queue, r)
	q.Counters.Waiting(1)
	q.bell.Broadcast()
	return nil
}

// place assigns the sequence to a slot of the instance with the fewest sequences, or to the backlog.
func (q *sequence) place(c *chain) {
	best := slices.MinFunc(q.instances, func(a, b *instance) int { return cmp.Compare(len(a.chains), len(b.chains)) })
	if len(best.chains) >= q.slots {
		q.backlog = append(q.backlog, c)
		return
	}
	c.instance = best
	best.chains = append(best.chains, c)
}

// release frees the slot of a sequence for the oldest in the backlog.
func (q *sequence) release(c *chain) {
	c.instance.chains = slices.DeleteFunc(c.instance.chains, func(o *chain) bool { return o == c })
	if q.live[c.key] == c {
		delete(q.live, c.key)
	}
	if len(q.backlog) > 0 {
		next := q.backlog[0]
		q.backlog = q.backlog[1:]
		next.instance = c.instance
		next.last = time.Now() // it could not be served before, so it was not idle
		c.instance.chains = append(c.instance.chains, next)
	}
	c.instance = nil
	q.bell.Broadcast()
}

// ran takes back sequences whose requests have run, and ends those whose last one has.
func (q *sequence) ran(chains []*chain, requests []*infer.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, c := range chains {
		c.running = false
		if requests[i].Sequence.End && len(c.queue) == 0 {
			q.release(c)
		}
	}
}

// next waits until the instance has something to run; without any the instance ends.
func (q *sequence) next(l *instance) (ready []*chain, requests []*infer.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		now := time.Now()
		q.reap(l, now)
		ready = slices.DeleteFunc(slices.Clone(l.chains), func(c *chain) bool { return len(c.queue) == 0 })
		if len(ready) > 0 {
			slices.SortStableFunc(ready, func(a, b *chain) int { return a.queue[0].Queued.Compare(b.queue[0].Queued) })
			wait := q.delay - now.Sub(ready[0].queue[0].Queued)
			full := len(ready) >= q.batch || float64(len(ready)) >= q.utilization*float64(q.slots)
			if q.closed || wait <= 0 || full {
				ready = ready[:min(len(ready), q.batch)]
				for _, c := range ready {
					requests = append(requests, c.queue[0])
					c.queue, c.running = c.queue[1:], true
				}
				q.Counters.Waiting(-int64(len(requests)))
				return ready, requests
			}
			q.bell.ringAt(now.Add(wait))
		} else if q.closed && len(q.backlog) == 0 {
			return nil, nil
		}
		q.bell.Wait()
	}
}

// reap ends sequences that were idle too long, and sets the bell for the next one.
func (q *sequence) reap(l *instance, now time.Time) {
	for _, c := range slices.Clone(l.chains) {
		if c.running || len(c.queue) > 0 {
			continue
		}
		if due := c.last.Add(q.idle); now.Before(due) && !q.closed {
			q.bell.ringAt(due)
			continue
		}
		q.release(c)
	}
}

// close refuses what waits in the backlog and ends when the rest has run.
func (q *sequence) close() {
	q.mu.Lock()
	q.closed = true
	q.cancel()
	for _, c := range q.backlog {
		for _, r := range c.queue {
			q.refuse(r, Rejected, errStopping)
		}
	}
	q.backlog = nil
	q.bell.Broadcast()
	q.mu.Unlock()
	q.loops.Wait()
	q.running.Wait()
}
