// Package model holds the models of the server: their configuration, the check of a request against it, and the
// repository that loads and unloads them. The built-in ones are config.pbtxt files in Triton's own format, embedded.
package model

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/backend"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/tensor"
)

// Model is one version of a model that is loaded.
type Model struct {
	Config   *kserve.ModelConfig
	Version  int64
	Counters *Counters

	inputs    map[string]*input
	outputs   map[string]bool
	scheduler scheduler
}

// input is a configured input, ready for checking.
type input struct {
	config *kserve.ModelInput
	kind   tensor.Datatype
	dims   tensor.Shape
}

// Name is the name of the model.
func (m *Model) Name() string { return m.Config.GetName() }

// VersionText is the version as clients write it.
func (m *Model) VersionText() string { return strconv.FormatInt(m.Version, 10) }

// Decoupled reports whether a request may have any number of responses.
func (m *Model) Decoupled() bool { return m.Config.GetModelTransactionPolicy().GetDecoupled() }

// Platform is the model's platform, or its backend where it has none.
func (m *Model) Platform() string { return cmp.Or(m.Config.GetPlatform(), m.Config.GetBackend()) }

// Infer checks the request and passes it to the scheduler. If it returns an error, the request has ended and Reply is never
// called.
func (m *Model) Infer(r *infer.Request) error {
	if err := m.check(r); err != nil {
		return err
	}
	r.Trace.Model(m.Name(), m.Version, r.ID)
	r.Trace.Mark("REQUEST_START", time.Now())
	r.Trace.Mark("QUEUE_START", time.Now())
	return m.scheduler.enqueue(r)
}

// Run passes a request with one response to the scheduler, as Infer does, and waits for the response.
func (m *Model) Run(r *infer.Request) (*infer.Response, error) {
	got := make(chan *infer.Response, 1)
	r.Reply = func(resp *infer.Response) { got <- resp }
	if err := m.Infer(r); err != nil {
		return nil, err
	}
	resp := <-got
	return resp, resp.Err
}

// build makes a loaded model from a complete configuration.
func build(cfg *kserve.ModelConfig, version int64, r *Repository) (*Model, error) {
	m := &Model{
		Config: cfg, Version: version, Counters: newCounters(cfg.GetName(), strconv.FormatInt(version, 10)),
		inputs: map[string]*input{}, outputs: map[string]bool{},
	}
	for _, in := range cfg.GetInput() {
		kind, ok := backend.Datatype(in.GetDataType())
		if !ok {
			return nil, fmt.Errorf("model input '%s' must specify 'data_type'", in.GetName())
		}
		m.inputs[in.GetName()] = &input{config: in, kind: kind, dims: in.GetDims()}
	}
	for _, out := range cfg.GetOutput() {
		m.outputs[out.GetName()] = true
	}
	return m, m.schedule(r)
}

func (m *Model) schedule(r *Repository) error {
	if m.Config.GetEnsembleScheduling() != nil {
		return m.scheduleEnsemble(newRunner(m, r.opts.Clock, nil), r)
	}
	count := 0
	for _, g := range m.Config.GetInstanceGroup() {
		count += int(g.GetCount())
	}
	if most, err := strconv.Atoi(m.Config.GetParameters()["most_instances"].GetStringValue()); err == nil && count > most {
		return fmt.Errorf("out of memory: %d instances of model '%s' do not fit, only %d do", count, m.Name(), most)
	}
	delay, pinned := r.opts.Delays[m.Name()]
	if m.Decoupled() && m.Config.GetBackend() == "blank" {
		pinned = false // the backend itself holds its responses
	}
	var instances []backend.Instance
	for range max(count, 1) {
		inst, err := backend.New(m.Config.GetBackend(), m.Config, backend.Env{Clock: r.opts.Clock, Seed: r.opts.Seed, Pace: r.opts.Pace, Hold: delay, Instances: max(count, 1)})
		if err != nil {
			return err
		}
		instances = append(instances, inst)
	}
	x, sequences := newRunner(m, r.opts.Clock, instances), m.Config.GetSequenceBatching() != nil
	switch {
	case pinned && (m.Decoupled() || sequences):
		return fmt.Errorf("model '%s' has sequences or answers more than once: its delay cannot be pinned; pick another one", m.Name())
	case pinned:
		m.scheduler = newPinned(x, delay)
	case sequences:
		m.scheduler = newSequence(x)
	default:
		m.scheduler = newPool(x)
	}
	return nil
}

// scheduleEnsemble connects the steps. A step that is loaded again takes the requests that come after that.
func (m *Model) scheduleEnsemble(x *runner, r *Repository) error {
	e := &ensemble{runner: x, steps: m.Config.GetEnsembleScheduling().GetStep(), now: r.current}
	known := map[string]bool{}
	for _, in := range m.Config.GetInput() {
		known[in.GetName()] = true
	}
	for _, s := range e.steps {
		for _, from := range s.GetInputMap() {
			if !known[from] {
				return fmt.Errorf("step '%s' of ensemble '%s' takes the tensor '%s', which no step before it makes; put the steps in order", s.GetModelName(), m.Name(), from)
			}
		}
		for _, to := range s.GetOutputMap() {
			known[to] = true
		}
		part, err := r.find(s.GetModelName(), s.GetModelVersion())
		if err != nil {
			return fmt.Errorf("ensemble '%s' depends on '%s' which is not loaded: %w", m.Name(), s.GetModelName(), err)
		}
		if e.parts = append(e.parts, part); part.Decoupled() {
			m.Config.ModelTransactionPolicy = &kserve.ModelTransactionPolicy{Decoupled: true}
		}
	}
	m.scheduler = e
	return nil
}

func (m *Model) close() { m.scheduler.close() }

// Tensor describes an input or output as clients see it, with the batch dimension in front.
type Tensor struct {
	Name  string
	Type  tensor.Datatype
	Shape tensor.Shape
}

// Describe lists the model's tensors in the order of its configuration.
func (m *Model) Describe() (inputs, outputs []Tensor) {
	of := func(name string, kind kserve.DataType, dims []int64) Tensor {
		t := Tensor{Name: name}
		t.Type, _ = backend.Datatype(kind) // checked when the model was loaded
		if m.Config.GetMaxBatchSize() > 0 {
			t.Shape = tensor.Shape{-1}
		}
		t.Shape = append(t.Shape, dims...)
		return t
	}
	for _, in := range m.Config.GetInput() {
		inputs = append(inputs, of(in.GetName(), in.GetDataType(), in.GetDims()))
	}
	for _, out := range m.Config.GetOutput() {
		outputs = append(outputs, of(out.GetName(), out.GetDataType(), out.GetDims()))
	}
	return inputs, outputs
}
