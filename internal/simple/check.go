package simple

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// Check returns an error if this client cannot measure the model with the requests of a plan. The messages are those of simple_perf_client.py.
func Check(m *service.Model, p Plan) error {
	if n := len(m.Inputs); n != 1 {
		return fmt.Errorf("expecting 1 input, got %d", n)
	}
	if n := len(m.Outputs); n != 1 && (n > 0 || !m.Unconfigured) {
		return fmt.Errorf("expecting 1 output, got %d", n)
	}
	if m.Unconfigured {
		return checkElements(m, p)
	}
	batch, dims := p.Input.Batch, 1
	if m.MaxBatch > 0 {
		dims++
	}
	in, out := whole(m, m.Inputs[0]), whole(m, m.Outputs[0])
	if len(in) != dims {
		return fmt.Errorf("expecting input to have %d dimensions, model '%s' input has %d", dims, m.Name, len(in))
	}
	if len(out) != dims {
		return fmt.Errorf("expecting output to have %d dimensions, model '%s' output has %d", dims, m.Name, len(out))
	}
	if in[dims-1] != -1 {
		return fmt.Errorf("expecting input to have variable shape [-1], model '%s' input has %s", m.Name, list(in))
	}
	if out[dims-1] != -1 {
		return fmt.Errorf("expecting output to have variable shape [-1], model '%s' output has %s", m.Name, list(out))
	}
	if m.MaxBatch == 0 && batch > 1 {
		return fmt.Errorf("model '%s' does not support batching: omit -b %d", m.Name, batch)
	}
	return nil
}

// checkElements checks -s against the input of a model whose server is not Triton: its last dimension may be fixed.
func checkElements(m *service.Model, p Plan) error {
	in := m.Inputs[0]
	n := len(in.Shape)
	switch {
	case p.Shaped, p.Input.Source != plan.Zero:
		return nil
	case in.Shape.Dynamic() && n > 1:
		return fmt.Errorf("input %s of model '%s' has several dimensions, %s: give all of them with -s, as in -s %s:%s:1,16", in.Name, m.Name, in.Shape, in.Name, in.Type)
	case !in.Shape.Dynamic() && p.Elements != 1 && (n == 0 || in.Shape[n-1] != int64(p.Elements)):
		return fmt.Errorf("-s %d: input %s of model '%s' has the fixed shape %s: leave -s out", p.Elements, in.Name, m.Name, in.Shape)
	}
	return nil
}

// whole is the shape as the server's metadata has it, with the batch dimension.
func whole(m *service.Model, t service.TensorSpec) tensor.Shape {
	if m.MaxBatch > 0 {
		return append(tensor.Shape{-1}, t.Shape...)
	}
	return t.Shape
}

// list writes a shape as Python writes a list.
func list(s tensor.Shape) string {
	return "[" + strings.Join(convert.All(s, func(d int64) string { return strconv.FormatInt(d, 10) }), ", ") + "]"
}
