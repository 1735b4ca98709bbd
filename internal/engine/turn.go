package engine

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/minstd"
	"github.com/redline-bench/redline/internal/pace"
)

// Order is how a paced loop chooses the source of a request. Except in RoundRobin, request n is due on worker
// (n % sources) % workers.
type Order uint8

// The orders.
const (
	RoundRobin Order = iota // source n % sources fills in request n
	Random                  // any source of the worker, whether or not it has a request in flight
	Blocking                // any source of the worker, but one request per worker at a time
	Serial                  // the worker's source that has been idle longest; one request per source at a time
)

// WorkerOf is the worker of a source. Workers have consecutive sources, equally many each; if the sources cannot be divided
// equally, the first workers have one more.
func WorkerOf(source, sources, workers int) int {
	workers = max(1, min(workers, sources))
	share, more := sources/workers, sources%workers
	if source < more*(share+1) {
		return source / (share + 1)
	}
	return more + (source-more*(share+1))/share
}

// turns is the Arrivals of a schedule: a fixed set of sources takes turns.
type turns struct {
	e       *Engine
	load    *Paced
	sources []Source
	worker  []int // of each source
	first   []int // the first source of each worker, and then the number of sources
	quota   []int // what each worker may still send; nil is no limit
	idle    *idleQueue

	stopped []atomic.Bool // workers that failures have stopped
	working atomic.Int64  // workers that are not stopped

	n      int           // index of the request that Next returned
	at     time.Duration // its offset
	turn   int           // the worker on which it is due
	picked bool          // Pick has counted it
}

func newTurns(e *Engine, load *Paced) *turns {
	t := &turns{e: e, load: load, n: -1, sources: make([]Source, load.Sources), worker: make([]int, load.Sources)}
	workers := cmp.Or(min(load.Workers, load.Sources), load.Sources)
	t.first, t.stopped = make([]int, workers+1), make([]atomic.Bool, workers)
	t.working.Store(int64(workers))
	for i := range t.sources {
		w := WorkerOf(i, load.Sources, workers)
		t.sources[i], t.worker[i], t.first[w+1] = e.makeSource(i, cmp.Or(load.WholeSources, load.Sources)), w, i+1
	}
	for len(e.draws) < workers {
		e.draws = append(e.draws, minstd.New(load.Seed))
	}
	if load.Limit > 0 {
		t.quota = make([]int, workers)
		for w := range t.quota {
			t.quota[w] = part(load.Limit, workers, w)
		}
	}
	switch load.Order {
	case Serial:
		t.idle = newIdleQueue(workers)
		for i, w := range t.worker {
			t.idle.push(i, w)
		}
	case Blocking:
		t.idle = newIdleQueue(workers)
		for w := range workers {
			t.idle.push(w, w)
		}
	case RoundRobin, Random:
	}
	return t
}

// Next implements Arrivals. It passes over requests of workers that have sent their part of the limit.
func (t *turns) Next(context.Context, func()) (time.Duration, bool) {
	t.picked = false
	for t.left() != 0 {
		offset, ok := t.load.Schedule.Next()
		if !ok {
			return 0, false
		}
		t.n++
		t.at, t.turn = offset, t.n%len(t.sources)%len(t.stopped)
		if t.load.Order == RoundRobin {
			t.turn = t.worker[t.n%len(t.sources)]
		}
		if !t.spent(t.turn) {
			return offset, true
		}
	}
	return 0, false
}

// Pick implements Arrivals.
func (t *turns) Pick(ctx context.Context, flush func()) (Job, bool) {
	if t.stopped[t.turn].Load() {
		if t.quota != nil {
			t.quota[t.turn] = 0
		}
		return Job{}, t.working.Load() > 0
	}
	for {
		i, ok := t.choose(ctx, flush)
		if !ok || t.e.stopped.Load() || t.working.Load() == 0 {
			return Job{}, false
		}
		w := t.worker[i]
		if t.idle != nil && t.stopped[w].Load() { // the failure that stopped it made the source idle
			continue
		}
		if t.picked = true; t.quota != nil {
			t.quota[w]--
		}
		return Job{Source: t.sources[i], Index: i, Worker: w}, true
	}
}

// choose returns the source of the request that is due. If the request's worker has no idle source, one of another worker
// sends it: that is better than a send lag. ok is false when ctx has ended.
func (t *turns) choose(ctx context.Context, flush func()) (source int, ok bool) {
	switch t.load.Order {
	case Random:
		return t.draw(t.turn), true
	case Serial:
		return t.idle.pop(ctx, t.turn, t.spent, flush)
	case Blocking:
		w, ok := t.idle.pop(ctx, t.turn, t.spent, flush)
		return t.draw(w), ok
	case RoundRobin:
	}
	return t.n % len(t.sources), true
}

// draw draws a source of a worker.
func (t *turns) draw(worker int) int {
	first := t.first[worker]
	return first + t.e.draws[worker].Below(t.first[worker+1]-first)
}

// Ended implements Arrivals.
func (t *turns) Ended(source int, stop bool) bool {
	w := t.worker[source]
	more := true
	if stop && !t.stopped[w].Swap(true) {
		more = t.working.Add(-1) > 0
	}
	switch t.load.Order {
	case Serial:
		t.idle.push(source, w)
	case Blocking:
		t.idle.push(w, w)
	case RoundRobin, Random:
	}
	return more
}

// Close implements Arrivals.
func (t *turns) Close(unsent bool) []Source {
	if unsent && t.working.Load() > 0 {
		t.countDropped()
	}
	if _, ok := t.sources[0].(Closer); ok {
		return t.sources
	}
	return nil
}

// countDropped counts the requests that were due when the load was stopped and were not sent.
func (t *turns) countDropped() {
	left := t.left()
	if t.picked && t.quota != nil {
		left++
	}
	t.e.CountDropped(t.load.Schedule, t.load.Begin, t.at, left)
}

// CountDropped adds to Dropped the requests of a schedule that are due and were not sent: the one that is due at an offset from begin, and
// those that the schedule has after it, up to left of them; -1 is all. A request with a send lag below DelayedAfter is not counted: the
// load ended between its due time and its send.
//
// At a rate that cannot be sent, too many requests are due to count them one by one. Beyond maxCounted, CountDropped estimates the
// rest from the rate of those it counted.
func (e *Engine) CountDropped(s pace.Schedule, begin int64, at time.Duration, left int) {
	const maxCounted = 500_000
	latest, first := time.Duration(clock.Now()-begin)-DelayedAfter, at
	for counted := 0; at <= latest && left != 0; left-- {
		if counted == maxCounted {
			rest := float64(latest-at) / float64(max(1, at-first)) * maxCounted
			if left > 0 {
				rest = min(rest, float64(left))
			}
			e.dropped.Add(uint64(rest))
			return
		}
		counted++
		e.dropped.Add(1)
		var ok bool
		if at, ok = s.Next(); !ok {
			return
		}
	}
}

// spent tells whether the worker has sent its part of the limit.
func (t *turns) spent(worker int) bool { return t.quota != nil && t.quota[worker] == 0 }

// left is how many requests may still be sent; without a limit a negative number.
func (t *turns) left() int {
	if t.quota == nil {
		return -1
	}
	sum := 0
	for _, q := range t.quota {
		sum += q
	}
	return sum
}

// idleQueue holds sources, or workers, that have nothing in flight: one queue per worker, longest idle first.
type idleQueue struct {
	mu     sync.Mutex
	queues [][]int
	signal chan struct{}
}

func newIdleQueue(workers int) *idleQueue {
	return &idleQueue{queues: make([][]int, workers), signal: make(chan struct{}, 1)}
}

func (q *idleQueue) push(v, worker int) {
	q.mu.Lock()
	q.queues[worker] = append(q.queues[worker], v)
	q.mu.Unlock()
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

// pop takes the longest idle entry of a worker, or of the next worker that has one and has not sent its part of the limit.
// It calls flush before it waits.
func (q *idleQueue) pop(ctx context.Context, worker int, spent func(int) bool, flush func()) (v int, ok bool) {
	for {
		if v, ok = q.try(worker, spent); ok {
			return v, true
		}
		flush()
		select {
		case <-ctx.Done():
			return 0, false
		case <-q.signal:
		}
	}
}

func (q *idleQueue) try(worker int, spent func(int) bool) (v int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for k := range q.queues {
		from := (worker + k) % len(q.queues)
		if list := &q.queues[from]; len(*list) > 0 && !spent(from) {
			v = (*list)[0]
			*list = append((*list)[:0], (*list)[1:]...)
			return v, true
		}
	}
	return 0, false
}
