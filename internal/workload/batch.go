package workload

import (
	"bytes"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// inputsAt gathers the batch of steps from start on into the tensors of a request. The data of a batch of one
// is shared with the step; nothing changes it afterwards.
func (d *Data) inputsAt(stream []step, start int) ([]tensor.Tensor, error) {
	tensors := make([]tensor.Tensor, 0, len(d.inputs))
	for i, spec := range d.inputs {
		first := &stream[start].in[i]
		for k := 1; k < d.batch; k++ {
			if err := agree(spec, first, &stream[(start+k)%len(stream)].in[i]); err != nil {
				return nil, err
			}
		}
		if !first.set {
			if spec.Optional && !d.shared() {
				continue
			}
			if spec.Optional {
				return nil, dataError("every input needs data with --shared-memory, also optional inputs")
			}
			return nil, dataError(noData, spec.Name)
		}
		tensors = append(tensors, d.join(spec, first.shape, func(k int) []byte {
			return stream[(start+k)%len(stream)].in[i].data
		}))
	}
	return tensors, nil
}

// shared tells whether inputs lie in shared memory, where all of them must be.
func (d *Data) shared() bool {
	return d.in.SharedMemory == plan.SystemSharedMemory || d.in.SharedMemory == plan.CUDASharedMemory
}

// agree checks that two members of a batch fit together in one input.
func agree(spec service.TensorSpec, a, b *datum) error {
	switch {
	case a.set != b.set:
		return dataError(OtherInputs)
	case !sameShape(a.shape, b.shape):
		return dataError("input %s has the shapes %s and %s, which cannot be in one batch: use -b 1", spec.Name, a.shape, b.shape)
	case !spec.ShapeTensor || !a.set:
		return nil
	case len(a.data) != len(b.data):
		return dataError("shape tensors of one batch must be equal, but their sizes differ")
	case !bytes.Equal(a.data, b.data):
		return dataError("shape tensors of one batch must be equal, but their values differ")
	}
	return nil
}

func sameShape(a, b tensor.Shape) bool { return len(a) == len(b) && a.Accepts(b) }

// expectAt is what the batch that starts at start must answer; nil when one of its steps does not say.
func (d *Data) expectAt(stream []step, start int) []tensor.Tensor {
	for k := range d.batch {
		if stream[(start+k)%len(stream)].want == nil {
			return nil
		}
	}
	tensors := []tensor.Tensor{}
	for i, spec := range d.outputs {
		shape := stream[start].want[i].shape
		known := true
		for k := range d.batch {
			w := &stream[(start+k)%len(stream)].want[i]
			known = known && w.set
			if w.shape == nil || shape == nil || !sameShape(shape, w.shape) {
				shape = nil
			}
		}
		if known {
			tensors = append(tensors, d.join(spec, shape, func(k int) []byte {
				return stream[(start+k)%len(stream)].want[i].data
			}))
		}
	}
	return tensors
}

// join puts the members of a batch behind each other. A shape tensor describes the whole batch: it is sent
// once. A shape that is not known stays so.
func (d *Data) join(spec service.TensorSpec, shape tensor.Shape, member func(int) []byte) tensor.Tensor {
	t := tensor.Tensor{Name: spec.Name, Type: spec.Type, Shape: shape, Data: member(0)}
	if spec.ShapeTensor {
		return t
	}
	if d.batching && shape != nil {
		t.Shape = append(tensor.Shape{int64(d.batch)}, shape...)
	}
	if d.batch == 1 {
		return t
	}
	size := 0
	for k := range d.batch {
		size += len(member(k))
	}
	t.Data = make([]byte, 0, size)
	for k := range d.batch {
		t.Data = append(t.Data, member(k)...)
	}
	return t
}
