// Package stats counts what one version of a model did, in the shape of Triton's statistics extension.
//
// Every request counts once in the stages it went through; a batch that was executed counts once more, under its size.
// Times are what really passed between the marks that the scheduler took.
package stats

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Duration counts events and adds up their time.
type Duration struct {
	Count uint64
	Total time.Duration
}

func (d *Duration) add(t time.Duration) {
	d.Count++
	d.Total += max(t, 0)
}

// Stages are the parts of an execution.
type Stages struct{ Input, Infer, Output time.Duration }

// Snapshot is all counters at one moment.
type Snapshot struct {
	LastInference time.Time
	Inferences    uint64
	Executions    uint64

	Success, Fail, Queue                      Duration
	ComputeInput, ComputeInfer, ComputeOutput Duration

	Batches   []Batch
	Responses []Response

	// Failures counts failed requests by their reason.
	Failures map[Reason]uint64
	// Pending is how many requests wait in the queue now.
	Pending int64
}

// Batch is the time spent on executions of one size.
type Batch struct {
	Size                 int
	Input, Infer, Output Duration
}

// Response is the time spent on the n-th response of decoupled requests.
type Response struct {
	Infer, Output, Success, Fail, Empty Duration
}

// Reason says why a request failed.
type Reason string

// The reasons, by the words of Triton's metrics.
const (
	Rejected Reason = "REJECTED"
	Canceled Reason = "CANCELED"
	Backend  Reason = "BACKEND"
	Other    Reason = "OTHER"
)

// Counters adds up. Its zero value is ready.
type Counters struct {
	mu      sync.Mutex
	now     Snapshot
	batches map[int]*Batch
}

// Request adds one request that was executed and succeeded: its whole time, its wait, and its stages.
func (c *Counters) Request(batch int, total, queue time.Duration, st Stages) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Inferences += uint64(max(batch, 1))
	c.now.Success.add(total)
	c.now.Queue.add(queue)
	c.now.ComputeInput.add(st.Input)
	c.now.ComputeInfer.add(st.Infer)
	c.now.ComputeOutput.add(st.Output)
	c.now.LastInference = time.Now()
}

// Execution adds one run of the backend on a batch of the given size.
func (c *Counters) Execution(size int, st Stages) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Executions++
	b := c.batch(size)
	b.Input.add(st.Input)
	b.Infer.add(st.Infer)
	b.Output.add(st.Output)
}

// batch is the executions of a size. The caller holds the lock.
func (c *Counters) batch(size int) *Batch {
	if c.batches == nil {
		c.batches = map[int]*Batch{}
	}
	size = max(size, 1)
	if c.batches[size] == nil {
		c.batches[size] = &Batch{Size: size}
	}
	return c.batches[size]
}

// Failure adds one request that failed.
func (c *Counters) Failure(total time.Duration, why Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Fail.add(total)
	if c.now.Failures == nil {
		c.now.Failures = map[Reason]uint64{}
	}
	c.now.Failures[why]++
	c.now.LastInference = time.Now()
}

// Answer adds the n-th response of a decoupled request.
func (c *Counters) Answer(n int, add func(*Response)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.now.Responses) <= n {
		c.now.Responses = append(c.now.Responses, Response{})
	}
	add(&c.now.Responses[n])
}

// Add counts an event in a duration of a Response.
func Add(d *Duration, t time.Duration) { d.add(t) }

// Waiting changes the number of requests in the queue.
func (c *Counters) Waiting(by int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Pending += by
}

// Snapshot copies all counters; batches come in order of size.
func (c *Counters) Snapshot() Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.now
	out.Batches = make([]Batch, 0, len(c.batches))
	for _, size := range slices.Sorted(maps.Keys(c.batches)) {
		out.Batches = append(out.Batches, *c.batches[size])
	}
	out.Responses = slices.Clone(c.now.Responses)
	out.Failures = maps.Clone(c.now.Failures)
	return out
}
