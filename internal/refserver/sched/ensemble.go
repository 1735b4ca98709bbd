package sched

import (
	"maps"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/stats"
	"github.com/redline-bench/redline/internal/tensor"
)

// Step is one model of an ensemble.
type Step struct {
	Config *kserve.ModelEnsembling_Step
	Infer  func(*infer.Request) error
}

// Ensemble runs a chain of other models: each step takes tensors of the request or of the steps before it. The steps after one with many
// responses run once for each of them, so the responses of the ensemble keep their order.
type Ensemble struct {
	*runner
	steps []Step
}

// NewEnsemble makes an ensemble of the steps.
func NewEnsemble(s Setup, steps []Step) *Ensemble {
	return &Ensemble{runner: newRunner(s), steps: steps}
}

// Enqueue starts the chain.
func (e *Ensemble) Enqueue(r *infer.Request) error {
	r.Queued = time.Now()
	f := &flow{ensemble: e, req: r}
	e.running.Go(f.run)
	return nil
}

// Close waits for the requests in progress; their steps are other models.
func (e *Ensemble) Close() {
	e.cancel()
	e.running.Wait()
}

// flow is one request in the chain.
type flow struct {
	ensemble *Ensemble
	req      *infer.Request
	sum      stats.Stages
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
	case e.decoupled:
		last = &infer.Response{Empty: true}
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
		if f.ensemble.decoupled {
			f.send(resp)
		}
		f.one = resp
		return nil
	}
	step := f.ensemble.steps[i]
	responses := infer.NewMailbox()
	r := f.request(step.Config, tensors)
	r.Reply = responses.Put
	if err := step.Infer(r); err != nil {
		return err
	}
	var failed error
	for {
		resp := responses.Take()
		if failed == nil {
			failed = resp.Err
		}
		if failed == nil && !resp.Empty {
			more := maps.Clone(tensors)
			for _, t := range resp.Outputs {
				if to, ok := step.Config.GetOutputMap()[t.Name]; ok {
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
	resp.Version = f.ensemble.Version
	if traceAnswer(f.req.Trace, time.Now()); resp.Final {
		traceEnd(f.req.Trace, time.Now())
	}
	f.req.Reply(resp)
}
