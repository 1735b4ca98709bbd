package kserve_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor"
)

// world is a source made of two maps.
type world struct {
	meta map[string]*kserve.Metadata
	cfg  map[string]*kserve.Config
	ext  []string
	err  error // of Extensions
	log  []string

	cfgErr error // of Config
}

func (w *world) unknown(name string) error {
	return &service.Error{Op: "x", Class: record.Server, Text: "Request for unknown model: '" + name + "' is not found"}
}

func (w *world) Metadata(_ context.Context, name, version string) (*kserve.Metadata, error) {
	w.log = append(w.log, "metadata "+name+version)
	if m := w.meta[name]; m != nil {
		return m, nil
	}
	return nil, w.unknown(name)
}

func (w *world) Config(_ context.Context, name, version string) (*kserve.Config, error) {
	w.log = append(w.log, "config "+name+version)
	if w.cfgErr != nil {
		return nil, w.cfgErr
	}
	if c := w.cfg[name]; c != nil {
		return c, nil
	}
	return nil, w.unknown(name)
}

func (w *world) Extensions(context.Context) ([]string, error) { return w.ext, w.err }

func newWorld() *world {
	ensemble := func(steps ...kserve.Step) *kserve.Config { return &kserve.Config{Platform: "ensemble", Steps: steps} }
	return &world{
		meta: map[string]*kserve.Metadata{
			"plain": {
				Platform: "onnx", Inputs: []kserve.TensorMetadata{{Name: "I", Datatype: "FP32", Shape: []int64{-1, 3}}},
				Outputs: []kserve.TensorMetadata{{Name: "O", Datatype: "BYTES", Shape: []int64{-1, 1}}},
			},
			"outer": {}, "bls": {}, "circle": {}, "seq": {}, "flat": {Inputs: []kserve.TensorMetadata{{Name: "I", Datatype: "FP32"}}},
			"odd":   {Inputs: []kserve.TensorMetadata{{Name: "I", Datatype: "FP99", Shape: []int64{1}}}},
			"twice": {Outputs: []kserve.TensorMetadata{{Name: "O", Datatype: "FP32", Shape: []int64{1}}, {Name: "O", Datatype: "FP32", Shape: []int64{1}}}},
			"extra": {}, "lone": {}, "broken": {},
		},
		cfg: map[string]*kserve.Config{
			"plain": {
				MaxBatch: 4, Dynamic: true, Decoupled: true,
				Inputs: []kserve.TensorConfig{{Name: "I", Optional: true, ShapeTensor: true}}, Outputs: []kserve.TensorConfig{{Name: "O"}},
			},
			"outer":  ensemble(kserve.Step{Model: "inner", Version: -1}, kserve.Step{Model: "cached", Version: 3}, kserve.Step{Model: "inner", Version: -1}),
			"inner":  ensemble(kserve.Step{Model: "seq", Version: -1}),
			"seq":    {Sequence: true},
			"cached": {Cache: true},
			"bls":    {Dynamic: true},
			"circle": ensemble(kserve.Step{Model: "circle", Version: -1}),
			"flat":   {MaxBatch: 2},
			"odd":    {}, "twice": {},
			"extra":  {Outputs: []kserve.TensorConfig{{Name: "GHOST"}}},
			"broken": ensemble(kserve.Step{Model: "missing", Version: -1}),
		},
		ext: []string{"sequence", "statistics", "model_configuration", "binary_tensor_data"},
	}
}

func TestDescribe(t *testing.T) {
	inner := service.Composing{Name: "inner", Parts: []service.Composing{{Name: "seq"}}}
	for name, tc := range map[string]struct {
		target plan.Target
		want   service.Model
	}{
		"plain": {plan.Target{Model: "plain", Version: "2"}, service.Model{
			Name: "plain", Version: "2", Platform: "onnx", MaxBatch: 4, Scheduler: service.DynamicBatcher, Decoupled: true,
			Inputs:  []service.TensorSpec{{Name: "I", Type: tensor.FP32, Shape: tensor.Shape{3}, Optional: true, ShapeTensor: true}},
			Outputs: []service.TensorSpec{{Name: "O", Type: tensor.Bytes, Shape: tensor.Shape{1}}},
		}},
		"sequence": {plan.Target{Model: "seq"}, service.Model{Name: "seq", Scheduler: service.SequenceBatcher}},
		"ensemble in ensemble": {plan.Target{Model: "outer"}, service.Model{
			Name: "outer", Platform: "ensemble", Scheduler: service.EnsembleWithSequence, Cache: true,
			Composing: []service.Composing{inner, {Name: "cached", Version: "3"}},
		}},
		"business logic": {
			plan.Target{Model: "bls", ComposingModels: []plan.ModelRef{{Name: "cached", Version: "1"}, {Name: "inner"}}},
			service.Model{
				Name: "bls", Scheduler: service.EnsembleWithSequence, Cache: true,
				Composing: []service.Composing{{Name: "cached", Version: "1"}, inner},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			got, err := kserve.Describe(t.Context(), w, tc.target)
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Statistics, tc.want.BinaryData = true, true
			if tc.want.Inputs == nil {
				tc.want.Inputs, tc.want.Outputs = []service.TensorSpec{}, []service.TensorSpec{}
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := strings.Join(w.log[:2], ", "); got != "metadata "+tc.target.Model+tc.target.Version+", config "+tc.target.Model+tc.target.Version {
				t.Errorf("asked for %s", got)
			}
		})
	}
}

// A server without model configurations states the tensors alone. The list of extensions may lack what the server has, and have
// what it lacks.
func TestDescribeUnconfigured(t *testing.T) {
	absent := func(class record.Class, code int) error {
		return &service.Error{Class: class, Code: code, Text: "no such path"}
	}
	plain := service.Model{
		Name: "plain", Platform: "onnx", Unconfigured: true,
		Inputs:  []service.TensorSpec{{Name: "I", Type: tensor.FP32, Shape: tensor.Shape{-1, 3}}},
		Outputs: []service.TensorSpec{{Name: "O", Type: tensor.Bytes, Shape: tensor.Shape{-1, 1}}},
	}
	f := func(policy plan.Extensions, ext []string, config, server error, want string, edit func(*service.Model)) {
		t.Helper()
		w := newWorld()
		w.ext, w.cfgErr, w.err = ext, config, server
		got, err := kserve.Describe(t.Context(), w, plan.Target{Model: "plain", Extensions: policy})
		if want != "" {
			if e, ok := errors.AsType[*service.Error](err); !ok || e.Op+": "+e.Error() != want {
				t.Errorf("%s %v, %v: got %v", policy, ext, config, err)
			}
			return
		}
		m := plain
		if edit != nil {
			edit(&m)
		}
		if diff := cmp.Diff(&m, got); err != nil || diff != "" {
			t.Errorf("%s %v, %v: %v, -want +got:\n%s", policy, ext, config, err, diff)
		}
	}
	binary := func(m *service.Model) { m.BinaryData = true }
	f("", nil, absent(record.Server, 404), nil, "", nil)
	f("", []string{"binary_tensor_data"}, absent(record.Server, 12), nil, "", binary)
	f("", nil, absent(record.Server, 404), absent(record.Server, 404), "", nil)
	f("", []string{"model_configuration"}, absent(record.Server, 404), nil, "", nil)
	f("", []string{"statistics"}, absent(record.Server, 500), nil, "", func(m *service.Model) { m.Statistics = true })
	f("", []string{"model_configuration"}, absent(record.Server, 500), nil, "model config: no such path", nil)
	f("", nil, absent(record.Timeout, 0), nil, "model config: no such path", nil)
	f("", nil, absent(record.Protocol, 200), nil, "model config: no such path", nil)
	f("", nil, absent(record.Server, 404), absent(record.Connect, 0), "server metadata: no such path", nil)
	f(plan.NeedExtensions, nil, absent(record.Server, 404), nil, "model config: no such path", nil)
	f(plan.NoExtensions, []string{"statistics"}, nil, nil, "", nil)
}

// A server with model configurations is a Triton, also without the list of its extensions.
func TestDescribeWithoutList(t *testing.T) {
	for _, ext := range [][]string{nil, {}} {
		w := newWorld()
		w.ext = ext
		m, err := kserve.Describe(t.Context(), w, plan.Target{Model: "plain"})
		if err != nil || m.Unconfigured || !m.Statistics || !m.BinaryData || m.MaxBatch != 4 {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

func TestDescribeFailures(t *testing.T) {
	for model, want := range map[string]string{
		"nope":   "model metadata: Request for unknown model: 'nope' is not found",
		"lone":   "model config: Request for unknown model: 'lone' is not found",
		"broken": "model parser: Request for unknown model: 'missing' is not found",
		"extra":  "model parser: the model's configuration has the output tensor GHOST, but its metadata does not",
		"odd":    "model parser: unknown datatype 'FP99' of input tensor I",
		"twice":  "model parser: the metadata names output tensor O twice",
		"flat":   "model parser: input tensor I has no batch dimension although the model batches",
		"circle": "model parser: ensembles are nested more than 32 deep at model circle",
		"down":   "server metadata: out of order",
	} {
		t.Run(model, func(t *testing.T) {
			w := newWorld()
			if model == "down" {
				w.meta["down"], w.cfg["down"], w.err = &kserve.Metadata{}, &kserve.Config{}, errors.New("out of order")
			}
			_, err := kserve.Describe(t.Context(), w, plan.Target{Model: model})
			var e *service.Error
			if !errors.As(err, &e) || e.Op+": "+e.Error() != want {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestKnown(t *testing.T) {
	m := &service.Model{Name: "top", Composing: []service.Composing{{Name: "a", Parts: []service.Composing{{Name: "b"}}}}}
	got := kserve.Known(m, []service.ModelStats{{Name: "x"}, {Name: "top"}, {Name: "b"}, {Name: "a", Version: "1"}, {Name: "a", Version: "2"}})
	want := []service.ModelStats{{Name: "top"}, {Name: "b"}, {Name: "a", Version: "1"}, {Name: "a", Version: "2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTraceSettings(t *testing.T) {
	want := kserve.TraceSettings(plan.Trace{Level: "TENSORS", Rate: "9"})
	if diff := cmp.Diff([]kserve.Setting{{Key: "trace_level", Values: []string{"TENSORS"}}, {Key: "trace_rate", Values: []string{"9"}}}, want); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	back := kserve.Restore(want, map[string][]string{"trace_level": {"OFF"}, "trace_count": {"1"}})
	if diff := cmp.Diff([]kserve.Setting{{Key: "trace_level", Values: []string{"OFF"}}}, back); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if s := kserve.TraceSettings(plan.Trace{}); s != nil {
		t.Errorf("got %v for nothing", s)
	}
}

func TestMatch(t *testing.T) {
	want := &tensor.Tensor{Data: []byte("ab")}
	for got, text := range map[string]string{"ab": "", "ac": string(service.OutputDiffers), "a": string(service.OutputSize), "abc": string(service.OutputSize), "": string(service.OutputSize)} {
		err := kserve.Match(want, []byte(got))
		if (err == nil) != (text == "") || err != nil && (err.Error() != text || err.Class != record.Mismatch) {
			t.Errorf("%q: got %v", got, err)
		}
	}
}
