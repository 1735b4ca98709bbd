package sched

import (
	"maps"
	"slices"
	"sync"
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

// Ensemble runs a graph of other models: a step starts as soon as all its input tensors are present. A step with many responses
// starts the steps after it once for each response, and the responses of the ensemble keep that order.
type Ensemble struct {
	*runner
	steps []Step
}

// NewEnsemble makes an ensemble of the steps.
func NewEnsemble(s Setup, steps []Step) *Ensemble {
	return &Ensemble{runner: newRunner(s), steps: steps}
}

// Enqueue starts the steps that need only the inputs.
func (e *Ensemble) Enqueue(r *infer.Request) error {
	e.running.Add(1)
	f := &flow{ensemble: e, req: r, start: time.Now()}
	f.mu.Lock()
	root := &branch{tensors: map[string]tensor.Tensor{}, started: map[int]bool{}}
	for _, t := range r.Inputs {
		root.tensors[t.Name] = t
	}
	f.order = append(f.order, root)
	calls := f.ready(root)
	f.mu.Unlock()
	f.call(calls)
	return nil
}

// Close waits for the requests in progress; their steps are other models.
func (e *Ensemble) Close() {
	e.cancel()
	e.running.Wait()
}

// flow is one request in the graph.
type flow struct {
	ensemble *Ensemble
	req      *infer.Request
	start    time.Time

	mu      sync.Mutex
	pending int       // steps that have not sent their last response
	order   []*branch // in the order of their responses
	sum     stats.Stages
	sent    bool
	err     error
	over    bool
}

// branch is the tensors of one future response. A decoupled step makes a branch for each of its responses.
type branch struct {
	tensors map[string]tensor.Tensor
	started map[int]bool
	running int
	split   bool // its responses come from the branches made out of it
}

// call is a step that is ready to start.
type call struct {
	step   int
	branch *branch
	req    *infer.Request
}

// ready lists the steps of a branch that can start now, and counts them as pending. It needs the lock.
func (f *flow) ready(b *branch) []call {
	var calls []call
	for i, s := range f.ensemble.steps {
		if b.started[i] {
			continue
		}
		inputs, ok := b.gather(s.Config, f.ensemble.Config)
		if !ok {
			continue
		}
		b.started[i] = true
		b.running++
		f.pending++
		calls = append(calls, call{step: i, branch: b, req: f.request(s.Config, inputs)})
	}
	return calls
}

// gather finds the inputs of a step; false as long as one is missing. A tensor that the client may leave out and did
// leave out is not waited for.
func (b *branch) gather(s *kserve.ModelEnsembling_Step, cfg *kserve.ModelConfig) ([]tensor.Tensor, bool) {
	var inputs []tensor.Tensor
	for name, from := range s.GetInputMap() {
		t, ok := b.tensors[from]
		if !ok {
			if optionalInput(cfg, from) {
				continue
			}
			return nil, false
		}
		t.Name = name
		inputs = append(inputs, t)
	}
	return inputs, true
}

func optionalInput(cfg *kserve.ModelConfig, name string) bool {
	for _, in := range cfg.GetInput() {
		if in.GetName() == name {
			return in.GetOptional()
		}
	}
	return false
}

func (f *flow) request(s *kserve.ModelEnsembling_Step, inputs []tensor.Tensor) *infer.Request {
	r := &infer.Request{
		Model: s.GetModelName(), ID: f.req.ID, Sequence: f.req.Sequence, Priority: f.req.Priority, Timeout: f.req.Timeout,
		Params: f.req.Params, Inputs: inputs, Context: f.req.Context, Received: time.Now(),
		Trace: f.req.Trace.Child(),
	}
	for name := range s.GetOutputMap() {
		r.Outputs = append(r.Outputs, infer.Output{Name: name})
	}
	return r
}

// call starts steps, without the lock: a response may come before Infer returns.
func (f *flow) call(calls []call) {
	for _, c := range calls {
		c.req.Reply = func(resp *infer.Response) { f.answered(c, resp) }
		if err := f.ensemble.steps[c.step].Infer(c.req); err != nil {
			f.answered(c, &infer.Response{Err: err, Final: true})
		}
	}
}

// answered handles one response of a step.
func (f *flow) answered(c call, resp *infer.Response) {
	f.mu.Lock()
	var calls []call
	switch {
	case resp.Err != nil:
		f.err = resp.Err
	case resp.Empty:
	case resp.Final && !c.branch.split:
		c.branch.add(f.ensemble.steps[c.step].Config, resp.Outputs)
		calls = f.ready(c.branch)
	default:
		calls = f.ready(f.fork(c, resp))
	}
	if resp.Final {
		f.pending--
		c.branch.running--
		f.sum.Input += resp.Stages.Input
		f.sum.Infer += resp.Stages.Infer
		f.sum.Output += resp.Stages.Output
	}
	out := f.collect()
	for _, r := range out {
		if t := f.req.Trace; t != nil {
			traceAnswer(t, r, time.Now())
			if r.Final {
				traceEnd(t, time.Now())
			}
		}
		f.req.Reply(r) // under the lock, so that the order holds; Reply never blocks
	}
	f.mu.Unlock()
	if len(out) > 0 && out[len(out)-1].Final {
		f.ensemble.running.Done()
	}
	f.call(calls)
}

// fork makes a branch for one of many responses of a step, in the order of these responses.
func (f *flow) fork(c call, resp *infer.Response) *branch {
	child := &branch{tensors: maps.Clone(c.branch.tensors), started: maps.Clone(c.branch.started)}
	child.add(f.ensemble.steps[c.step].Config, resp.Outputs)
	c.branch.split = true
	f.order = append(f.order, child)
	return child
}

func (b *branch) add(s *kserve.ModelEnsembling_Step, outputs []tensor.Tensor) {
	for _, t := range outputs {
		if to, ok := s.GetOutputMap()[t.Name]; ok {
			t.Name = to
			b.tensors[to] = t
		}
	}
}

// collect returns the responses that can be sent now. The caller holds the lock.
func (f *flow) collect() []*infer.Response {
	if f.over {
		return nil
	}
	var out []*infer.Response
	for len(f.order) > 0 && f.err == nil {
		b := f.order[0]
		if b.running > 0 && !b.split {
			break
		}
		f.order = f.order[1:]
		if b.split {
			continue
		}
		outputs := b.outputs(f.ensemble.Config, f.req)
		if outputs == nil && f.ensemble.decoupled {
			continue
		}
		out = append(out, &infer.Response{Outputs: outputs, Version: f.ensemble.Version, Params: sequenceParams(f.req.Sequence)})
	}
	if f.err == nil && (f.pending > 0 || len(f.order) > 0) {
		f.sent = f.sent || len(out) > 0
		return out
	}
	return append(slices.Clip(out), f.last(out)...)
}

// last ends the request: with the response that is sent now or, if all have been sent, with an empty one.
func (f *flow) last(out []*infer.Response) []*infer.Response {
	f.over = true
	end := time.Now()
	x := f.ensemble
	x.count(&item{req: f.req, queued: f.start}, f.start, end, f.sum, f.err)
	if f.err == nil {
		x.Counters.Execution(max(f.req.Batch, 1), f.sum)
	}
	switch {
	case f.err != nil:
		return []*infer.Response{{Err: f.err, Final: true, Version: x.Version}}
	case len(out) > 0:
		out[len(out)-1].Final, out[len(out)-1].Stages = true, f.sum
		return nil
	case x.decoupled:
		return []*infer.Response{{Final: true, Empty: true, Version: x.Version, Stages: f.sum}}
	}
	return []*infer.Response{{Err: infer.Errorf(infer.Internal, "ensemble '%s' gave no answer", x.Config.GetName()), Final: true, Version: x.Version}}
}

// sequenceParams are the parameters that Triton puts on every response of an ensemble.
func sequenceParams(s infer.Sequence) map[string]any {
	id := any(s.ID)
	if s.Name != "" {
		id = s.Name
	}
	return map[string]any{"sequence_id": id, "sequence_start": s.Start, "sequence_end": s.End}
}

// outputs finds the ensemble's outputs in the branch.
func (b *branch) outputs(cfg *kserve.ModelConfig, r *infer.Request) []tensor.Tensor {
	var out []tensor.Tensor
	for _, o := range cfg.GetOutput() {
		if t, ok := b.tensors[o.GetName()]; ok && r.Wants(o.GetName()) {
			out = append(out, t)
		}
	}
	return out
}
