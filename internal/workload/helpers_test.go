package workload_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/workload"
)

// fake keeps what it is asked to prepare. A request is the index into that.
type fake struct {
	service.Service
	got []service.Inputs
	err error
}

func (f *fake) Prepare(in service.Inputs) (service.Request, error) {
	f.got = append(f.got, in)
	return len(f.got) - 1, f.err
}

func spec(name string, t tensor.Datatype, shape ...int64) service.TensorSpec {
	return service.TensorSpec{Name: name, Type: t, Shape: shape}
}

// model has one input and one output of a type and shape, and batches.
func model(t tensor.Datatype, shape ...int64) *service.Model {
	return &service.Model{
		MaxBatch: 8,
		Inputs:   []service.TensorSpec{spec("IN", t, shape...)},
		Outputs:  []service.TensorSpec{spec("OUT", t, shape...)},
	}
}

// pair has two INT32[2] inputs, not in the order of their names; A may be left out when optional.
func pair(optional, shapeTensor bool) *service.Model {
	a := spec("A", tensor.Int32, 2)
	a.Optional, a.ShapeTensor = optional, shapeTensor
	return &service.Model{
		MaxBatch: 8,
		Inputs:   []service.TensorSpec{spec("B", tensor.Int32, 2), a},
		Outputs:  []service.TensorSpec{spec("O2", tensor.Int32, 2), spec("O1", tensor.Int32, 2)},
	}
}

// fromJSON is the input of a run on files with these texts.
func fromJSON(t *testing.T, texts ...string) plan.Input {
	t.Helper()
	in := plan.Input{Batch: 1, Source: plan.JSONFiles, FirstStream: true}
	dir := t.TempDir()
	for i, text := range texts {
		path := filepath.Join(dir, string(rune('a'+i))+".json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		in.Paths = append(in.Paths, path)
	}
	return in
}

func load(t *testing.T, in plan.Input, m *service.Model) *workload.Data {
	t.Helper()
	d, err := workload.Load(in, m)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func prepare(t *testing.T, d *workload.Data) (*workload.Requests, []service.Inputs) {
	t.Helper()
	svc := &fake{}
	r, err := workload.Prepare(t.Context(), svc, d)
	if err != nil {
		t.Fatal(err)
	}
	return r, svc.got
}

// ints is raw INT32 data.
func ints(vs ...int32) []byte {
	raw := []byte{}
	for _, v := range vs {
		raw = append(raw, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return raw
}
