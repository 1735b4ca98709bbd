// Package sched decides when a request runs, in which batch, and on which instance of the model.
//
// There are four schedulers: Pool (one queue, every idle instance takes from it, alone or in dynamic batches), Sequence
// (a slot for each live sequence), Pinned (every response after a fixed time), and Ensemble (a graph of other models). All of
// them take the timestamps of the statistics: no time is estimated.
package sched

import (
	"context"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/backend"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/pause"
	"github.com/redline-bench/redline/internal/refserver/stats"
	"github.com/redline-bench/redline/internal/refserver/trace"
	"github.com/redline-bench/redline/internal/tensor"
)

// Scheduler schedules checked requests.
type Scheduler interface {
	// Enqueue accepts the request, or returns why it is refused; then Reply is never called.
	Enqueue(r *infer.Request) error
	// Close refuses new requests, serves those that wait, and returns when none runs.
	Close()
}

// Setup is what a scheduler needs to know of its model.
type Setup struct {
	Config    *kserve.ModelConfig
	Version   string
	Instances []backend.Instance
	Counters  *stats.Counters
	Clock     *pause.Clock
}

// item is a request that waits.
type item struct {
	req    *infer.Request
	queued time.Time
}

// errStopping refuses a request that comes when the model is unloaded.
var errStopping = infer.Errorf(infer.Unavailable, "the model is being unloaded: it takes no more requests")

// runner executes batches and counts them.
type runner struct {
	Setup
	decoupled bool
	ctx       context.Context
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

func newRunner(s Setup) *runner {
	ctx, cancel := context.WithCancel(context.Background())
	return &runner{Setup: s, decoupled: s.Config.GetModelTransactionPolicy().GetDecoupled(), ctx: ctx, cancel: cancel}
}

// execution is one batch that an instance executes.
type execution struct {
	start, inputEnd time.Time
	size            int

	mu   sync.Mutex
	left int // jobs of a decoupled model that have not ended
}

// run executes the items as one batch and answers them.
func (x *runner) run(inst backend.Instance, items []*item) {
	e := &execution{start: time.Now(), left: len(items)}
	jobs := make([]*backend.Job, len(items))
	answers := make([]answer, len(items))
	for i, it := range items {
		e.size += max(it.req.Batch, 1)
		jobs[i] = &backend.Job{Request: it.req}
		if x.decoupled {
			jobs[i].Answer = x.stream(e, it)
		} else {
			jobs[i].Answer = answers[i].take
		}
	}
	e.inputEnd = time.Now()
	inst.Execute(x.ctx, jobs)
	if x.decoupled {
		return
	}
	x.finish(e, items, answers, time.Now())
}

// answer is the backend's result for one job of a model with one response.
type answer struct {
	outputs []tensor.Tensor
	err     error
	given   bool
}

func (a *answer) take(outputs []tensor.Tensor, err error, _ bool) {
	if !a.given {
		a.outputs, a.err, a.given = outputs, err, true
	}
}

// finish builds the responses of a batch, counts them, and then sends them: a client that has a response finds it in the
// statistics.
func (x *runner) finish(e *execution, items []*item, answers []answer, outputStart time.Time) {
	responses := make([]*infer.Response, len(items))
	for i, it := range items {
		responses[i] = x.response(it.req, answers[i].outputs)
		responses[i].Final = true
		if answers[i].err != nil {
			responses[i].Err = answers[i].err
		}
	}
	end := time.Now()
	st := stats.Stages{Input: e.inputEnd.Sub(e.start), Infer: outputStart.Sub(e.inputEnd), Output: end.Sub(outputStart)}
	x.Counters.Execution(e.size, st)
	for i, it := range items {
		x.count(it, e.start, end, st, responses[i].Err)
		responses[i].Stages = st
		if t := it.req.Trace; t != nil {
			traceAnswer(t, responses[i], end)
			traceCompute(t, e, outputStart, end)
		}
	}
	for i, it := range items {
		it.req.Reply(responses[i])
	}
}

// traceAnswer adds the response to the trace of a request.
func traceAnswer(t *trace.Trace, resp *infer.Response, at time.Time) {
	if t.Wants() {
		for _, out := range resp.Outputs {
			t.Tensor("TENSOR_BACKEND_OUTPUT", out, infer.DataText(out))
		}
	}
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
	traceEnd(t, end)
}

func traceEnd(t *trace.Trace, at time.Time) {
	t.Mark("REQUEST_END", at)
	if t.Step() {
		t.End()
	}
}

func (x *runner) count(it *item, start, end time.Time, st stats.Stages, err error) {
	total := end.Sub(it.req.Received)
	if err != nil {
		x.Counters.Failure(total, stats.Backend)
		return
	}
	x.Counters.Request(it.req.Batch, total, start.Sub(it.queued), st)
}

// stream returns the Answer function of a decoupled job: every response is sent at once.
func (x *runner) stream(e *execution, it *item) func([]tensor.Tensor, error, bool) {
	x.running.Add(1)
	n, last := 0, e.start
	var inferTime, outputTime time.Duration
	over := false
	return func(outputs []tensor.Tensor, err error, end bool) {
		if over {
			return
		}
		now := time.Now()
		resp := x.response(it.req, outputs)
		resp.Err, resp.Final, resp.Empty = err, end, end && err == nil && outputs == nil
		done := time.Now()
		infer, output := now.Sub(last), done.Sub(now)
		inferTime, outputTime, last = inferTime+infer, outputTime+output, done
		x.Counters.Answer(n, func(r *stats.Response) { countAnswer(r, resp, infer, output) })
		n++
		if end {
			over = true
			st := stats.Stages{Input: e.inputEnd.Sub(e.start), Infer: inferTime, Output: outputTime}
			resp.Stages = st
			x.end(e, st)
			x.count(it, e.start, done, st, err)
		}
		if t := it.req.Trace; t != nil {
			traceAnswer(t, resp, done)
			if end {
				traceCompute(t, e, now, done)
			}
		}
		it.req.Reply(resp)
		if end {
			x.running.Done()
		}
	}
}

func countAnswer(r *stats.Response, resp *infer.Response, infer, output time.Duration) {
	switch {
	case resp.Err != nil:
		stats.Add(&r.Fail, infer+output)
	case resp.Empty:
		stats.Add(&r.Empty, infer)
	default:
		stats.Add(&r.Infer, infer)
		stats.Add(&r.Output, output)
		stats.Add(&r.Success, infer+output)
	}
}

// end counts the execution with the last of its jobs.
func (x *runner) end(e *execution, st stats.Stages) {
	e.mu.Lock()
	e.left--
	last := e.left == 0
	e.mu.Unlock()
	if last {
		x.Counters.Execution(e.size, st)
	}
}

// response keeps the outputs that the client wants.
func (x *runner) response(r *infer.Request, outputs []tensor.Tensor) *infer.Response {
	resp := &infer.Response{Version: x.Version}
	if len(r.Outputs) == 0 {
		resp.Outputs = outputs
		return resp
	}
	for i := range outputs {
		if r.Wants(outputs[i].Name) {
			resp.Outputs = append(resp.Outputs, outputs[i])
		}
	}
	return resp
}

// refuse fails a request that never ran.
func (x *runner) refuse(it *item, why stats.Reason, err error) {
	x.Counters.Failure(time.Since(it.req.Received), why)
	it.req.Reply(&infer.Response{Err: err, Final: true, Version: x.Version})
}
