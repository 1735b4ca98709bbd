package model

import (
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/tensor"
)

func bad(format string, args ...any) error { return infer.Errorf(infer.InvalidArg, format, args...) }

// check compares a request with the configuration, and sets its batch size.
func (m *Model) check(r *infer.Request) error {
	for _, out := range r.Outputs {
		if !m.outputs[out.Name] {
			return bad("unexpected inference output '%s' for model '%s'", out.Name, m.Name())
		}
	}
	var missing []string
	for _, in := range m.Config.GetInput() {
		if !in.GetOptional() && r.Input(in.GetName()) == nil {
			missing = append(missing, "'"+in.GetName()+"'")
		}
	}
	if len(missing) > 0 || len(r.Inputs) > len(m.inputs) {
		return bad("expected %d inputs but got %d inputs for model '%s'; missing are [%s]", len(m.inputs), len(r.Inputs), m.Name(), strings.Join(missing, ","))
	}
	for i := range r.Inputs {
		if m.inputs[r.Inputs[i].Name] == nil {
			return bad("unexpected inference input '%s' for model '%s'", r.Inputs[i].Name, m.Name())
		}
	}
	if err := m.checkBatch(r); err != nil {
		return err
	}
	for i := range slices.Backward(r.Inputs) { // Triton names the last wrong input
		if err := m.checkInput(r, &r.Inputs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) checkBatch(r *infer.Request) error {
	limit := int64(m.Config.GetMaxBatchSize())
	r.Batch = 0
	if limit == 0 {
		return nil
	}
	batch := int64(0)
	for i := range r.Inputs {
		in := &r.Inputs[i]
		switch {
		case m.inputs[in.Name].config.GetIsShapeTensor(): // one for the whole batch
		case len(in.Shape) == 0:
			return bad("input '%s' of model '%s' needs a shape that begins with the batch size", in.Name, m.Name())
		case batch == 0:
			batch = in.Shape[0]
		case in.Shape[0] != batch:
			return bad("the inputs of model '%s' have different batch sizes: '%s' has %d, another %d", m.Name(), in.Name, in.Shape[0], batch)
		}
	}
	if batch > limit || batch < 0 {
		return bad("inference request batch-size must be <= %d for '%s'", limit, m.Name())
	}
	r.Batch = int(batch)
	return nil
}

func (m *Model) checkInput(r *infer.Request, in *tensor.Tensor) error {
	want := m.inputs[in.Name]
	if in.Type != want.kind {
		return bad("inference input '%s' data-type is '%s', but model '%s' expects '%s'", in.Name, in.Type, m.Name(), want.kind)
	}
	dims, full := in.Shape, want.dims
	if m.Config.GetMaxBatchSize() > 0 && !want.config.GetIsShapeTensor() {
		dims, full = in.Shape[1:], slices.Concat(tensor.Shape{-1}, want.dims)
	}
	if slices.Contains(dims, -1) || !want.dims.Accepts(dims) {
		return bad("unexpected shape for input '%s' for model '%s'. Expected %s, got %s", in.Name, m.Name(), full, in.Shape)
	}
	counted := in.Shape
	if r.Batch == 0 {
		counted = dims // a batch of 0 is taken for none
	}
	count := counted.Elements()
	if count < 0 || count > 1<<40 { // bytes in memory
		return bad("input '%s' of model '%s' cannot have the shape %s", in.Name, m.Name(), in.Shape)
	}
	if in.Type == tensor.Bytes {
		return m.checkStrings(in, count)
	}
	if expected := count * int64(in.Type.Size()); expected != int64(len(in.Data)) {
		return bad("input '%s' of model '%s' needs %d bytes for its shape %s, got %d", in.Name, m.Name(), expected, in.Shape, len(in.Data))
	}
	return nil
}

// checkStrings walks over the elements of a BYTES tensor.
func (m *Model) checkStrings(in *tensor.Tensor, want int64) (err error) {
	count := int64(0)
	for rest := in.Data; len(rest) > 0; count++ {
		if _, rest, err = tensor.NextElement(rest); err != nil {
			return bad("input '%s' of model '%s': %v", in.Name, m.Name(), err)
		}
	}
	if count != want {
		return bad("input '%s' of model '%s' needs %d texts for its shape %s, got %d", in.Name, m.Name(), want, in.Shape, count)
	}
	return nil
}
