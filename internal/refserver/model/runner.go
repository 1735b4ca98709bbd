package model

import (
	"context"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/refserver/backend"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/refserver/trace"
	"github.com/redline-bench/redline/internal/tensor"
)

// scheduler decides when a request runs, in which batch, and on which instance of the model. There are four: pool (one queue, every idle
// instance takes from it, alone or in dynamic batches), sequence (a slot for each live sequence), pinned (every response after a fixed
// time), and ensemble (a chain of other models). All of them take the timestamps of the statistics: no time is estimated.
type scheduler interface {
	// enqueue accepts a checked request, or returns why it is refused; then Reply is never called.
	enqueue(r *infer.Request) error
	// close refuses new requests, serves those that wait, and returns when none runs.
	close()
}

// errStopping refuses a request that comes when the model is unloaded.
var errStopping = infer.Errorf(infer.Unavailable, "the model is being unloaded: it takes no more requests")

// runner executes batches and counts them.
type runner struct {
	*Model
	clock     *pause.Clock
	instances []backend.Instance
	ctx       context.Context
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

func newRunner(m *Model, clock *pause.Clock, instances []backend.Instance) *runner {
	ctx, cancel := context.WithCancel(context.Background())
	return &runner{Model: m, clock: clock, instances: instances, ctx: ctx, cancel: cancel}
}

// execution is one batch that an instance executes.
type execution struct {
	requests        []*infer.Request
	responses       []*infer.Response // of a model with one response
	start, inputEnd time.Time
	size            int

	mu   sync.Mutex
	left int // jobs of a decoupled model that have not ended
}

// begin gives the requests to an instance, which has responded to them when begin returns, unless the model is decoupled.
func (x *runner) begin(inst backend.Instance, requests []*infer.Request) *execution {
	e := &execution{requests: requests, responses: make([]*infer.Response, len(requests)), start: time.Now(), left: len(requests)}
	jobs := make([]*backend.Job, len(requests))
	for i, r := range requests {
		e.size += max(r.Batch, 1)
		jobs[i] = &backend.Job{Request: r}
		if x.Decoupled() {
			jobs[i].Answer = x.stream(e, r)
			continue
		}
		jobs[i].Answer = func(outputs []tensor.Tensor, err error, _ bool) {
			if e.responses[i] == nil {
				e.responses[i] = x.response(r, outputs, err)
			}
		}
	}
	e.inputEnd = time.Now()
	inst.Execute(x.ctx, jobs)
	return e
}

// run executes the requests as one batch and answers them.
func (x *runner) run(inst backend.Instance, requests []*infer.Request) {
	if e := x.begin(inst, requests); !x.Decoupled() {
		x.finish(e, time.Now())
	}
}

// finish counts a batch and then sends its responses: a client that has a response finds it in the statistics.
func (x *runner) finish(e *execution, outputStart time.Time) {
	end := time.Now()
	st := infer.Stages{Input: e.inputEnd.Sub(e.start), Infer: outputStart.Sub(e.inputEnd), Output: end.Sub(outputStart)}
	x.Counters.Execution(e.size, st)
	for i, r := range e.requests {
		e.responses[i].Final, e.responses[i].Stages = true, st
		x.count(r, e.start, end, st, e.responses[i].Err)
		traceAnswer(r.Trace, end)
		traceCompute(r.Trace, e, outputStart, end)
	}
	for i, r := range e.requests {
		r.Reply(e.responses[i])
	}
}

// traceAnswer adds a response to the trace of a request.
func traceAnswer(t *trace.Trace, at time.Time) {
	if !t.Step() {
		t.Mark("INFER_RESPONSE_COMPLETE", at)
	}
}

// traceCompute adds the last execution and the end to the trace of a request.
func traceCompute(t *trace.Trace, e *execution, outputStart, end time.Time) {
	t.Mark("COMPUTE_START", e.start)
	t.Mark("COMPUTE_INPUT_END", e.inputEnd)
	t.Mark("COMPUTE_OUTPUT_START", outputStart)
	t.Mark("COMPUTE_END", end)
	t.Mark("REQUEST_END", end)
}

func (x *runner) count(r *infer.Request, start, end time.Time, st infer.Stages, err error) {
	total := end.Sub(r.Received)
	if err != nil {
		x.Counters.Failure(total, Backend)
		return
	}
	x.Counters.Request(r.Batch, total, start.Sub(r.Queued), st)
}

// stream returns the Answer function of a decoupled job: every response is sent at once.
func (x *runner) stream(e *execution, r *infer.Request) func([]tensor.Tensor, error, bool) {
	x.running.Add(1)
	n, last, over := 0, e.start, false
	var st infer.Stages
	return func(outputs []tensor.Tensor, err error, end bool) {
		if over {
			return
		}
		now := time.Now()
		resp := x.response(r, outputs, err)
		resp.Final = end
		done := time.Now()
		infer, output := now.Sub(last), done.Sub(now)
		st.Input, st.Infer, st.Output, last = e.inputEnd.Sub(e.start), st.Infer+infer, st.Output+output, done
		x.Counters.Response(n, infer, output, err != nil, resp.Empty())
		n++
		traceAnswer(r.Trace, done)
		if end {
			over, resp.Stages = true, st
			x.end(e, st)
			x.count(r, e.start, done, st, err)
			traceCompute(r.Trace, e, now, done)
			defer x.running.Done()
		}
		r.Reply(resp)
	}
}

// end counts the execution with the last of its jobs.
func (x *runner) end(e *execution, st infer.Stages) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left--; e.left == 0 {
		x.Counters.Execution(e.size, st)
	}
}

// response keeps the outputs that the client wants.
func (x *runner) response(r *infer.Request, outputs []tensor.Tensor, err error) *infer.Response {
	resp := &infer.Response{Version: x.VersionText(), Outputs: outputs, Err: err}
	if len(r.Outputs) > 0 {
		resp.Outputs = nil
		for i := range outputs {
			if r.Wants(outputs[i].Name) {
				resp.Outputs = append(resp.Outputs, outputs[i])
			}
		}
	}
	return resp
}

// refuse fails a request that never ran.
func (x *runner) refuse(r *infer.Request, why Reason, err error) {
	x.Counters.Waiting(-1)
	x.Counters.Failure(time.Since(r.Received), why)
	r.Reply(&infer.Response{Err: err, Final: true, Version: x.VersionText()})
}

// bell wakes its waiters, at once or at a time. Callers of its methods hold the lock.
type bell struct {
	*sync.Cond
	clock *pause.Clock
	next  time.Time // time of the next wake-up; zero for none
}

// ringAt wakes all waiters at a time. An earlier wake-up that is already set is enough.
func (b *bell) ringAt(t time.Time) {
	if !b.next.IsZero() && !b.next.After(t) {
		return
	}
	b.next = t
	b.clock.At(t, func() {
		b.L.Lock()
		defer b.L.Unlock()
		b.next = time.Time{}
		b.Broadcast()
	})
}
