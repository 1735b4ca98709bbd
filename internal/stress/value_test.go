package stress

import (
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

func model(t tensor.Datatype, dims ...int64) *service.Model {
	spec := []service.TensorSpec{{Name: "T", Type: t, Shape: dims}}
	return &service.Model{Name: "m", MaxBatch: 8, Scheduler: service.SequenceBatcher, Inputs: spec, Outputs: spec}
}

func TestValuesOfEveryType(t *testing.T) {
	f := func(dt tensor.Datatype, value, want int64) {
		t.Helper()
		a, err := newAccumulator(model(dt, -1))
		if err != nil {
			t.Fatal(err)
		}
		in, err := a.inputs(value)
		if err != nil {
			t.Fatal(err)
		}
		if in.Tensors[0].Shape.String() != "[1,1]" {
			t.Errorf("%s: shape %s", dt, in.Tensors[0].Shape)
		}
		if got, err := a.answer(in.Tensors); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", dt, got, err, want)
		}
		if got := a.add(0, value); got != want {
			t.Errorf("%s: the sum is %d, want %d", dt, got, want)
		}
	}
	f(tensor.Int8, 200, -56)
	f(tensor.Uint8, 200, 200)
	f(tensor.Int16, 40000, 40000-65536)
	f(tensor.Uint16, 40000, 40000)
	f(tensor.Int32, 3_000_000_000, 3_000_000_000-1<<32)
	f(tensor.Uint32, 3_000_000_000, 3_000_000_000)
	f(tensor.Int64, 1<<40, 1<<40)
	f(tensor.Uint64, 1<<40, 1<<40)
	f(tensor.FP32, 1<<24+1, 1<<24)
	f(tensor.FP64, 1<<24+1, 1<<24+1)
	f(tensor.Bytes, 1048575, 1048575)
}

func TestModelsThatAreNoAccumulator(t *testing.T) {
	f := func(want string, m *service.Model) {
		t.Helper()
		if _, err := newAccumulator(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f("sums are made of integers", model(tensor.Bool, 1))
	f("there must be room for exactly one number", model(tensor.Int32, 16))
	plain := model(tensor.Int32, 1)
	plain.Scheduler = service.DynamicBatcher
	f("has no sequence batcher", plain)
	two := model(tensor.Int32, 1)
	two.Inputs = append(two.Inputs, two.Inputs[0])
	f("has 2 inputs and 1 outputs", two)
	decoupled := model(tensor.Int32, 1)
	decoupled.Decoupled = true
	f("is decoupled", decoupled)
}

func TestAnswersThatAreNone(t *testing.T) {
	a, err := newAccumulator(model(tensor.Bytes, 1))
	if err != nil {
		t.Fatal(err)
	}
	f := func(want string, outputs ...tensor.Tensor) {
		t.Helper()
		if _, err := a.answer(outputs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f("the response has no output T")
	f("came as INT32 with 4 bytes", tensor.Tensor{Name: "T", Type: tensor.Int32, Data: make([]byte, 4)})
	f(`"x" is not a number`, tensor.Tensor{Name: "T", Type: tensor.Bytes, Data: tensor.AppendElement(nil, "x")})
	f("ends inside an element", tensor.Tensor{Name: "T", Type: tensor.Bytes, Data: []byte{9, 0, 0, 0, 1}})
}
