package backend

import (
	"encoding/binary"
	"math"
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
		if seen++; every > 0 && seen%every == 0 {
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
		a, b := numbers(x), numbers(y)
		if len(a) != len(b) || x.Type != y.Type {
			j.Fail(infer.Errorf(infer.InvalidArg, "inputs '%s' and '%s' differ in size or type", x.Name, y.Name))
			return
		}
		var outs []tensor.Tensor
		for i, times := range []int64{1, -1} {
			list := make([]tensor.Num, len(a))
			for k := range a {
				list[k] = a[k].Add(b[k], times)
			}
			outs = append(outs, tensor.Tensor{Name: cfg.GetOutput()[i].GetName(), Type: x.Type, Shape: x.Shape, Data: packed(x.Type, list)})
		}
		j.Send(outs...)
	}
}

// numbers are the elements of a tensor. A text is the number that it has, or 0, so that random text can be sent too.
func numbers(t *tensor.Tensor) []tensor.Num {
	size := t.Type.Size()
	list := make([]tensor.Num, 0, len(t.Data)/max(size, 4))
	for _, text := range texts(t) {
		n, _ := strconv.ParseInt(text, 10, 64)
		list = append(list, tensor.Num{Whole: n})
	}
	for i := 0; size > 0 && i+size <= len(t.Data); i += size {
		list = append(list, tensor.Number(t.Type, t.Data[i:]))
	}
	return list
}

// packed is the raw form of numbers.
func packed(t tensor.Datatype, list []tensor.Num) []byte {
	var out []byte
	le := binary.LittleEndian
	for _, n := range list {
		switch t {
		case tensor.Bytes:
			out = tensor.AppendElement(out, strconv.FormatInt(n.Whole, 10))
		case tensor.FP32:
			out = le.AppendUint32(out, math.Float32bits(float32(n.Real)))
		case tensor.FP64:
			out = le.AppendUint64(out, math.Float64bits(n.Real))
		case tensor.FP16:
			out = le.AppendUint16(out, tensor.FP16FromFloat32(float32(n.Real)))
		case tensor.BF16:
			out = le.AppendUint16(out, tensor.BF16FromFloat32(float32(n.Real)))
		default:
			out = append(out, le.AppendUint64(nil, uint64(n.Whole))[:t.Size()]...)
		}
	}
	return out
}

// texts are the elements of a BYTES tensor; none of another one.
func texts(t *tensor.Tensor) []string {
	var list []string
	for rest := t.Data; t.Type == tensor.Bytes && len(rest) > 0; {
		elem, more, err := tensor.NextElement(rest)
		if err != nil {
			break // the model has checked the input
		}
		list, rest = append(list, string(elem)), more
	}
	return list
}
