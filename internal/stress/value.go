package stress

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// accumulator describes the model under test: it takes one number and returns the running sum.
type accumulator struct {
	input, output service.TensorSpec
	shape         tensor.Shape // of a request's input, with the batch dimension
}

// newAccumulator checks that the model can be an accumulator. Only the sums show whether it is one.
func newAccumulator(m *service.Model) (*accumulator, error) {
	switch {
	case !m.Sequential():
		return nil, fmt.Errorf("model %s has no sequence batcher: name a model that keeps a running sum for each sequence", m.Name)
	case len(m.Inputs) != 1 || len(m.Outputs) != 1:
		return nil, fmt.Errorf("model %s has %d inputs and %d outputs: it must take one number and return the running sum", m.Name, len(m.Inputs), len(m.Outputs))
	case m.Decoupled:
		return nil, fmt.Errorf("model %s is decoupled: each request must have one response", m.Name)
	}
	a := &accumulator{input: m.Inputs[0], output: m.Outputs[0]}
	if m.MaxBatch > 0 {
		a.shape = tensor.Shape{1}
	}
	for _, d := range a.input.Shape {
		if d != -1 && d != 1 {
			return nil, fmt.Errorf("input %s of model %s has shape %s: there must be room for exactly one number", a.input.Name, m.Name, a.input.Shape)
		}
		a.shape = append(a.shape, 1)
	}
	if _, err := a.encode(0); err != nil {
		return nil, err
	}
	if _, err := a.decode(tensor.Tensor{Type: a.output.Type, Data: make([]byte, 8)}); err != nil {
		return nil, err
	}
	return a, nil
}

// inputs is the request for a value.
func (a *accumulator) inputs(value int64) (service.Inputs, error) {
	data, err := a.encode(value)
	return service.Inputs{
		Tensors: []tensor.Tensor{{Name: a.input.Name, Type: a.input.Type, Shape: a.shape, Data: data}},
		Outputs: []string{a.output.Name},
	}, err
}

func (a *accumulator) encode(v int64) ([]byte, error) {
	switch t := a.input.Type; t {
	case tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Uint16, tensor.Int32, tensor.Uint32, tensor.Int64, tensor.Uint64:
		return binary.LittleEndian.AppendUint64(nil, uint64(v))[:t.Size()], nil
	case tensor.FP32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v))), nil
	case tensor.FP64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(v))), nil
	case tensor.Bytes:
		return tensor.AppendElement(nil, strconv.FormatInt(v, 10)), nil
	default:
		return nil, fmt.Errorf("input %s has type %s: sums are made of integers, FP32, FP64 or numbers as text", a.input.Name, t)
	}
}

// add returns the running sum in the model's type: integers wrap around, floats round.
func (a *accumulator) add(sum, v int64) int64 {
	switch a.output.Type {
	case tensor.Int8:
		return int64(int8(sum + v))
	case tensor.Uint8:
		return int64(uint8(sum + v))
	case tensor.Int16:
		return int64(int16(sum + v))
	case tensor.Uint16:
		return int64(uint16(sum + v))
	case tensor.Int32:
		return int64(int32(sum + v))
	case tensor.Uint32:
		return int64(uint32(sum + v))
	case tensor.FP32:
		return int64(float32(sum) + float32(v))
	default:
		return sum + v
	}
}

// sums appends the sum after each step of a pass.
func (a *accumulator) sums(to []int64, steps []Step) []int64 {
	var sum int64
	for i := range steps {
		if steps[i].Start {
			sum = 0
		}
		sum = a.add(sum, steps[i].Value)
		to = append(to, sum)
	}
	return to
}

// answer finds the sum in the outputs of a response.
func (a *accumulator) answer(outputs []tensor.Tensor) (int64, error) {
	for _, t := range outputs {
		if t.Name == a.output.Name {
			return a.decode(t)
		}
	}
	return 0, fmt.Errorf("the response has no output %s", a.output.Name)
}

func (a *accumulator) decode(t tensor.Tensor) (int64, error) {
	if size := t.Type.Size(); t.Type != a.output.Type || len(t.Data) < size {
		return 0, fmt.Errorf("output %s came as %s with %d bytes, not as %s", t.Name, t.Type, len(t.Data), a.output.Type)
	}
	switch n := tensor.Number(t.Type, t.Data); t.Type {
	case tensor.Int8, tensor.Uint8, tensor.Int16, tensor.Uint16, tensor.Int32, tensor.Uint32, tensor.Int64, tensor.Uint64:
		return n.Whole, nil
	case tensor.FP32, tensor.FP64:
		return int64(n.Real), nil
	case tensor.Bytes:
		return decodeText(t.Data)
	default:
		return 0, fmt.Errorf("output %s has type %s: sums are integers, FP32, FP64 or numbers as text", t.Name, t.Type)
	}
}

func decodeText(data []byte) (int64, error) {
	elem, _, err := tensor.NextElement(data)
	if err != nil || len(elem) == 0 {
		return 0, err
	}
	n, err := strconv.ParseInt(string(elem), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the response %q is not a number", elem)
	}
	return n, nil
}
