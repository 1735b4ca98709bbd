package backend

import (
	"encoding/binary"
	"strconv"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/tensor"
)

// identity returns each input as the output at the same position. If an optional input is missing, its output is missing too.
func identity(cfg *kserve.ModelConfig) func(*Job) {
	return func(j *Job) {
		ins, outs := cfg.GetInput(), cfg.GetOutput()
		answer := make([]tensor.Tensor, 0, len(outs))
		for i := range min(len(ins), len(outs)) {
			if t := j.Input(ins[i].GetName()); t != nil {
				answer = append(answer, tensor.Tensor{Name: outs[i].GetName(), Type: t.Type, Shape: t.Shape, Data: t.Data})
			}
		}
		j.Send(answer...)
	}
}

// fault is an identity that fails every n-th request; 0 for none.
func fault(cfg *kserve.ModelConfig, every int) func(*Job) {
	answer, seen := identity(cfg), 0
	return func(j *Job) {
		seen++
		if every > 0 && seen%every == 0 {
			j.Fail(infer.Errorf(infer.Internal, "%s: request %d failed on purpose", cfg.GetName(), seen))
			return
		}
		answer(j)
	}
}

// addSub gives the sum and the difference of its two inputs, of any numeric type or of numbers as text.
func addSub(cfg *kserve.ModelConfig) func(*Job) {
	return func(j *Job) {
		x, y := j.Input(cfg.GetInput()[0].GetName()), j.Input(cfg.GetInput()[1].GetName())
		sum, diff, err := sumAndDifference(x, y)
		if err != nil {
			j.Fail(err)
			return
		}
		outs := cfg.GetOutput()
		j.Send(tensor.Tensor{Name: outs[0].GetName(), Type: x.Type, Shape: x.Shape, Data: sum},
			tensor.Tensor{Name: outs[1].GetName(), Type: x.Type, Shape: x.Shape, Data: diff})
	}
}

func sumAndDifference(x, y *tensor.Tensor) (sum, diff []byte, err error) {
	if len(x.Data) != len(y.Data) && x.Type != tensor.Bytes {
		return nil, nil, infer.Errorf(infer.InvalidArg, "inputs '%s' and '%s' differ in size", x.Name, y.Name)
	}
	switch x.Type {
	case tensor.Bytes:
		sum, diff = stringSums(x.Data, y.Data)
		return sum, diff, nil
	case tensor.Int32, tensor.Uint32:
		sum, diff = make([]byte, len(x.Data)), make([]byte, len(x.Data))
		for i := 0; i+4 <= len(x.Data); i += 4 {
			a, b := binary.LittleEndian.Uint32(x.Data[i:]), binary.LittleEndian.Uint32(y.Data[i:])
			binary.LittleEndian.PutUint32(sum[i:], a+b)
			binary.LittleEndian.PutUint32(diff[i:], a-b)
		}
		return sum, diff, nil
	default:
		return numberSums(x, y)
	}
}

// numberSums is the general, slower form for the types that the common models do not use.
func numberSums(x, y *tensor.Tensor) (sum, diff []byte, err error) {
	size := x.Type.Size()
	if size == 0 {
		return nil, nil, infer.Errorf(infer.Unsupported, "datatype %s cannot be added", x.Type)
	}
	sum, diff = make([]byte, len(x.Data)), make([]byte, len(x.Data))
	for i := 0; i+size <= len(x.Data); i += size {
		a, b := tensor.Number(x.Type, x.Data[i:]), tensor.Number(x.Type, y.Data[i:])
		putNumber(x.Type, sum[i:], a.Add(b, 1))
		putNumber(x.Type, diff[i:], a.Add(b, -1))
	}
	return sum, diff, nil
}

func stringSums(x, y []byte) (sum, diff []byte) {
	for len(x) > 0 && len(y) > 0 {
		var a, b string
		a, x = nextString(x)
		b, y = nextString(y)
		m, _ := strconv.Atoi(a) // text that is not a number counts as 0, so that random text can be sent too
		n, _ := strconv.Atoi(b)
		sum = tensor.AppendElement(sum, strconv.Itoa(m+n))
		diff = tensor.AppendElement(diff, strconv.Itoa(m-n))
	}
	return sum, diff
}

// nextString takes one element off the raw form of a BYTES tensor.
func nextString(b []byte) (string, []byte) {
	if len(b) < 4 {
		return "", nil
	}
	n := int(binary.LittleEndian.Uint32(b))
	b = b[4:]
	n = min(n, len(b))
	return string(b[:n]), b[n:]
}
