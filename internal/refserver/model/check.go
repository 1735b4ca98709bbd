package model

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/tensor"
)

// batchNote is Triton's hint behind a shape that does not fit a model with batching.
const batchNote = "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. " +
	"If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. " +
	"See the model configuration docs for more info on max_batch_size."

// check compares a request with the configuration, in Triton's order and with its messages, and sets its batch size. Triton
// checks inputs in the order of a hash table, which for so few inputs is last to first.
func (m *Model) check(r *infer.Request) error {
	for _, out := range r.Outputs {
		if m.outputs[out.Name] == nil {
			return bad("unexpected inference output '%s' for model '%s'", out.Name, m.Name())
		}
	}
	if len(r.Inputs) > len(m.inputs) || len(r.Inputs) < m.required {
		return m.wrongCount(r)
	}
	for i := range slices.Backward(r.Inputs) {
		if m.inputs[r.Inputs[i].Name] == nil {
			return bad("unexpected inference input '%s' for model '%s'", r.Inputs[i].Name, m.Name())
		}
	}
	if err := m.checkBatch(r); err != nil {
		return err
	}
	for i := range slices.Backward(r.Inputs) {
		if err := m.checkInput(r, &r.Inputs[i]); err != nil {
			return err
		}
	}
	if len(r.Inputs) < len(m.inputs) && !m.runsWithoutInput() {
		for _, in := range m.Config.GetInput() {
			if !in.GetOptional() && r.Input(in.GetName()) == nil {
				return m.wrongCount(r)
			}
		}
	}
	return nil
}

// runsWithoutInput reports whether the model runs without an input that it should have. Triton only counts the inputs and leaves the rest
// to the model; the built-in backends that return each input accept it.
func (m *Model) runsWithoutInput() bool {
	return slices.Contains([]string{"identity", "delay", "fault"}, m.Config.GetBackend())
}

func (m *Model) checkBatch(r *infer.Request) error {
	limit := int64(m.Config.GetMaxBatchSize())
	r.Batch = 0
	if limit == 0 {
		return nil
	}
	batch := int64(0)
	for i := range slices.Backward(r.Inputs) {
		in := &r.Inputs[i]
		switch {
		case m.inputs[in.Name].config.GetIsShapeTensor(): // one for the whole batch
		case len(in.Shape) == 0:
			return bad("%sinput '%s' has no shape but model requires batch dimension for '%s'", r.Label(), in.Name, m.Name())
		case batch == 0:
			batch = in.Shape[0]
		case in.Shape[0] != batch:
			return bad("%sinput '%s' batch size does not match other inputs for '%s'", r.Label(), in.Name, m.Name())
		}
	}
	if batch > limit || batch < 0 {
		return bad("%sinference request batch-size must be <= %d for '%s'", r.Label(), limit, m.Name())
	}
	r.Batch = int(batch)
	return nil
}

func (m *Model) checkInput(r *infer.Request, in *tensor.Tensor) error {
	want := m.inputs[in.Name]
	if in.Type != want.kind {
		got := in.Type.String()
		if in.Type == tensor.Invalid {
			got = "<invalid>"
		}
		return bad("%sinference input '%s' data-type is '%s', but model '%s' expects '%s'", r.Label(), in.Name, got, m.Name(), want.kind)
	}
	dims, note := in.Shape, ""
	full := want.dims
	if m.Config.GetMaxBatchSize() > 0 && !want.config.GetIsShapeTensor() {
		dims, note = in.Shape[1:], batchNote
		full = slices.Concat(tensor.Shape{-1}, want.dims)
	}
	if len(dims) == len(want.dims) && slices.Contains(dims, -1) {
		return bad("%sAll input dimensions should be specified for input '%s' for model '%s', got %s", r.Label(), in.Name, m.Name(), in.Shape)
	}
	if !want.dims.Accepts(dims) {
		return bad("%sunexpected shape for input '%s' for model '%s'. Expected %s, got %s. %s", r.Label(), in.Name, m.Name(), full, in.Shape, note)
	}
	counted := in.Shape
	if r.Batch == 0 {
		counted = dims // a batch of 0 is taken for none
	}
	elements, ok := elements(counted)
	if !ok {
		return bad("%sinvalid shape %s for input '%s' for model '%s'", r.Label(), in.Shape, in.Name, m.Name())
	}
	if in.Type == tensor.Bytes {
		return m.checkStrings(r, in, elements)
	}
	if expected := elements * int64(in.Type.Size()); expected != int64(len(in.Data)) {
		return bad("%sinput byte size mismatch for input '%s' for model '%s'. Expected %d, got %d", r.Label(), in.Name, m.Name(), expected, len(in.Data))
	}
	return nil
}

// elements multiplies the dimensions; not ok when one is negative or the product is too large to be bytes in memory.
func elements(shape tensor.Shape) (int64, bool) {
	n := int64(1)
	for _, d := range shape {
		if d < 0 || d > 0 && n > (1<<40)/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// checkStrings walks over the elements of a BYTES tensor, each behind its length.
func (m *Model) checkStrings(r *infer.Request, in *tensor.Tensor, count int64) error {
	rest, seen := in.Data, int64(0)
	for len(rest) > 0 {
		if len(rest) < 4 {
			return bad("%sincomplete string length indicator for inference input '%s' for model '%s', expecting 4 bytes but only %d bytes available. "+
				"Please make sure the string length indicator is in one buffer.", r.Label(), in.Name, m.Name(), len(rest))
		}
		size := int64(binary.LittleEndian.Uint32(rest))
		seen++
		if seen > count {
			return bad("%sunexpected number of string elements %d for inference input '%s' for model '%s', expecting %d", r.Label(), seen, in.Name, m.Name(), count)
		}
		rest = rest[4:]
		if size > int64(len(rest)) {
			return bad("incomplete string data for inference input '%s', expecting string of length %d but only %d bytes available", in.Name, size, len(rest))
		}
		rest = rest[size:]
	}
	if seen != count {
		return bad("%sexpected %d string elements for inference input '%s' for model '%s', got %d", r.Label(), count, in.Name, m.Name(), seen)
	}
	return nil
}

func (m *Model) wrongCount(r *infer.Request) error {
	var missing, got []string
	for _, in := range m.Config.GetInput() {
		if !in.GetOptional() && r.Input(in.GetName()) == nil {
			missing = append(missing, "'"+in.GetName()+"'")
		}
	}
	for i := range slices.Backward(r.Inputs) {
		got = append(got, "'"+r.Inputs[i].Name+"'")
	}
	lacks := "[" + strings.Join(missing, ",") + "]"
	if len(missing) == 0 {
		lacks = "]" // Triton cuts the last character of an empty list too
	}
	tail := "Got input(s) [" + strings.Join(got, ",") + "], but missing required input(s) " + lacks + ". Please provide all required input(s)."
	if m.required == len(m.inputs) {
		return bad("%sexpected %d inputs but got %d inputs for model '%s'. %s", r.Label(), len(m.inputs), len(r.Inputs), m.Name(), tail)
	}
	return bad("%sexpected number of inputs between %d and %d but got %d inputs for model '%s'. %s", r.Label(), m.required, len(m.inputs), len(r.Inputs), m.Name(), tail)
}

func bad(format string, args ...any) error { return infer.Errorf(infer.InvalidArg, format, args...) }
