package engine

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// maxWorkers bounds for how many workers the first failure is kept.
const maxWorkers = 1024

// GiveUpAfter is how many requests in a row must fail before the load is given up.
const GiveUpAfter = 100

// GoneAfter is for how long every connection must fail before the load is given up. The time between two attempts to
// connect grows, so GiveUpAfter attempts may take a minute.
const GoneAfter = 3 * time.Second

// Failure is a group of failed requests with the same class and text; numbers in the text do not count.
type Failure struct {
	Class  record.Class
	Err    error // of the first
	Worker int   // of the first
	Count  uint64
}

// failures groups failed requests and counts those in a row. Failures are rare or end the run, so the lock costs little.
type failures struct {
	mu       sync.Mutex
	list     []Failure
	groups   Groups
	byWorker map[int]error

	inARow      atomic.Int64
	unreachable atomic.Int64 // since when every connection has failed; 0 if the server was reached
	failed      chan struct{}
	once        sync.Once // closes failed
}

var errOther = errors.New(OtherFailures)

// add counts a failed request of a worker.
func (f *failures) add(c *service.Call, worker int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := c.Err
	if err == nil {
		err = errors.New(c.Rec.Class.String())
	}
	i, fresh, others := f.groups.Of(c.Rec.Class.String(), err.Error())
	if others {
		err = errOther
	}
	if fresh {
		f.list = append(f.list, Failure{Class: c.Rec.Class, Err: err, Worker: worker})
	}
	f.list[i].Count++
	if f.byWorker == nil {
		f.byWorker = make(map[int]error)
	}
	if _, known := f.byWorker[worker]; !known && len(f.byWorker) < maxWorkers {
		f.byWorker[worker] = err
	}
}

// WorkerError is the first failure of one worker: of a slot in a closed loop, of a group of sources in a paced loop.
type WorkerError struct {
	Worker int
	Err    error
}

// WorkerErrors are the first failures of the workers that had one, in the order of the workers.
func (e *Engine) WorkerErrors() []WorkerError {
	f := &e.failures
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []WorkerError
	for _, worker := range slices.Sorted(maps.Keys(f.byWorker)) {
		out = append(out, WorkerError{worker, f.byWorker[worker]})
	}
	return out
}

// Failures are the failed requests so far, in groups, in the order of their first failure.
func (e *Engine) Failures() []Failure {
	f := &e.failures
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list)
}

// Failed is closed when failures call for the end of the load.
func (e *Engine) Failed() <-chan struct{} { return e.failures.failed }

// calledOff tells whether Failed is closed.
func (e *Engine) calledOff() bool {
	select {
	case <-e.failures.failed:
		return true
	default:
		return false
	}
}

// ClearFailures forgets all failures, and opens Failed again. It discards those of a warm-up. Nothing may be in flight.
func (e *Engine) ClearFailures() { e.failures.reset() }

func (f *failures) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list, f.groups, f.byWorker = nil, Groups{}, nil
	f.inARow.Store(0)
	f.unreachable.Store(0)
	f.failed, f.once = make(chan struct{}), sync.Once{}
}

// succeeded ends a row of failures.
func (f *failures) succeeded() {
	if f.inARow.Load() != 0 {
		f.inARow.Store(0)
		f.unreachable.Store(0)
	}
}

// tooMany counts a failure in the row, and tells whether the load is to be given up.
func (f *failures) tooMany(class record.Class) bool {
	gone := f.gone(class)
	return f.inARow.Add(1) >= GiveUpAfter || gone
}

// gone tells whether no connection could be made for GoneAfter. A connection that breaks does not count: the next attempt
// to connect tells.
func (f *failures) gone(class record.Class) bool {
	if class == record.Server || class == record.Mismatch {
		f.unreachable.Store(0)
	}
	if class != record.Connect {
		return false
	}
	now := clock.Now()
	since := f.unreachable.Load() // once: another goroutine may set it to 0 at any time
	if since == 0 {
		f.unreachable.CompareAndSwap(0, now)
		return false
	}
	return now-since >= int64(GoneAfter)
}
