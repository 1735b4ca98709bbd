package model

import (
	"maps"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/tensor"
)

// ensemble runs a chain of other models: each step takes tensors of the request or of the steps before it. The steps after one with many
// responses run once for each of them, so the responses of the ensemble keep their order.
type ensemble struct {
	*runner
	steps []*kserve.ModelEnsembling_Step
	parts []*Model // the models of the steps when the ensemble was loaded
	now   func(name string, version int64) (*Model, error)
}

// infer passes a request to the model of a step: to the one that is loaded now or, if there is none, to the one from before.
func (e *ensemble) infer(step int, r *infer.Request) error {
	if m, err := e.now(e.steps[step].GetModelName(), e.steps[step].GetModelVersion()); err == nil {
		return m.Infer(r)
	}
	return e.parts[step].Infer(r)
}

// enqueue starts the chain.
func (e *ensemble) enqueue(r *infer.Request) error {
	r.Queued = time.Now()
	f := &flow{ensemble: e, req: r}
	e.running.Go(f.run)
	return nil
}

// close waits for the requests in progress; their steps are other models.
func (e *ensemble) close() {
	e.cancel()
	e.running.Wait()
}

// flow is one request in the chain.
type flow struct {
	ensemble *ensemble
	req      *infer.Request
	sum      infer.Stages
	one      *infer.Response // of an ensemble that sends one
}

func (f *flow) run() {
	e := f.ensemble
	tensors := map[string]tensor.Tensor{}
	for _, t := range f.req.Inputs {
		tensors[t.Name] = t
	}
	err := f.from(0, tensors)
	end := time.Now()
	e.count(f.req, f.req.Queued, end, f.sum, err)
	if err == nil {
		e.Counters.Execution(max(f.req.Batch, 1), f.sum)
	}
	last := f.one
	switch {
	case err != nil:
		last = &infer.Response{Err: err}
	case e.Decoupled():
		last = &infer.Response{}
	case last == nil: // a step was loaded again as one that need not respond
		last = &infer.Response{Err: infer.Errorf(infer.Internal, "ensemble '%s' has no response", e.Config.GetName())}
	}
	last.Final, last.Stages = true, f.sum
	f.send(last)
}

// from runs the steps from i on with the tensors that there are so far.
func (f *flow) from(i int, tensors map[string]tensor.Tensor) error {
	if i == len(f.ensemble.steps) {
		resp := &infer.Response{}
		for _, o := range f.ensemble.Config.GetOutput() {
			if t, ok := tensors[o.GetName()]; ok && f.req.Wants(o.GetName()) {
				resp.Outputs = append(resp.Outputs, t)
			}
		}
		if f.ensemble.Decoupled() {
			f.send(resp)
		}
		f.one = resp
		return nil
	}
	step := f.ensemble.steps[i]
	responses := infer.NewMailbox()
	r := f.request(step, tensors)
	r.Reply = responses.Put
	if err := f.ensemble.infer(i, r); err != nil {
		return err
	}
	var failed error
	for {
		resp := responses.Take()
		if failed == nil {
			failed = resp.Err
		}
		if failed == nil && !resp.Empty() {
			more := maps.Clone(tensors)
			for _, t := range resp.Outputs {
				if to, ok := step.GetOutputMap()[t.Name]; ok {
					t.Name = to
					more[to] = t
				}
			}
			failed = f.from(i+1, more)
		}
		if resp.Final {
			f.sum.Input += resp.Stages.Input
			f.sum.Infer += resp.Stages.Infer
			f.sum.Output += resp.Stages.Output
			return failed
		}
	}
}

// request is the request for a step. A tensor that is not there is left out: the model of the step says if it needs it.
func (f *flow) request(s *kserve.ModelEnsembling_Step, tensors map[string]tensor.Tensor) *infer.Request {
	r := &infer.Request{Model: s.GetModelName(), ID: f.req.ID, Sequence: f.req.Sequence, Context: f.req.Context, Received: time.Now(), Trace: f.req.Trace.Child()}
	for name, from := range s.GetInputMap() {
		if t, ok := tensors[from]; ok {
			t.Name = name
			r.Inputs = append(r.Inputs, t)
		}
	}
	for name := range s.GetOutputMap() {
		r.Outputs = append(r.Outputs, infer.Output{Name: name})
	}
	return r
}

func (f *flow) send(resp *infer.Response) {
	resp.Version = f.ensemble.VersionText()
	if traceAnswer(f.req.Trace, time.Now()); resp.Final {
		f.req.Trace.Mark("REQUEST_END", time.Now())
	}
	f.req.Reply(resp)
}

// pinned responds to every request exactly a fixed time after it was received, for any number of requests. Tests compare measured
// latencies with it. Each request is a separate execution.
type pinned struct {
	*runner
	delay time.Duration
	mu    sync.Mutex // the instance runs one request at a time; only the waiting is parallel
}

// newPinned makes a scheduler that delays every response.
func newPinned(x *runner, delay time.Duration) *pinned {
	return &pinned{runner: x, delay: delay}
}

// enqueue executes at once and responds when the delay has passed.
func (p *pinned) enqueue(r *infer.Request) error {
	p.running.Add(1)
	r.Queued = time.Now()
	p.mu.Lock()
	e := p.begin(p.instances[0], []*infer.Request{r})
	p.mu.Unlock()
	p.clock.At(r.Received.Add(p.delay), func() {
		defer p.running.Done()
		p.finish(e, time.Now())
	})
	return nil
}

// close waits for responses that are not sent yet.
func (p *pinned) close() {
	p.cancel()
	p.running.Wait()
}
