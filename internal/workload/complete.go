package workload

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// Complete returns the model with what its server does not state: the inputs, if it names none, and the batch dimension. Both
// follow from the metadata, from the shapes and datatypes of the plan, and from those in the input data. A model whose server
// states its configuration is returned as it is.
//
// The batch dimension is the first one, if it is -1 in every input; where the user gives the shape, it can be 1 too.
func Complete(in plan.Input, m *service.Model) (*service.Model, error) {
	if !m.Unconfigured {
		return m, nil
	}
	inputs, outputs, err := declared(in)
	if err != nil {
		return nil, err
	}
	c := &completion{in: in, model: *m, file: inputs}
	if c.model.Inputs, err = c.inputs(); err != nil {
		return nil, err
	}
	if len(m.Outputs) == 0 {
		c.model.Outputs = expected(outputs)
	}
	return c.batched()
}

// completion is a model on the way to being complete.
type completion struct {
	in      plan.Input
	model   service.Model
	file    declarations
	batches map[string]bool // inputs that begin with the batch dimension
}

// inputs are those of the metadata or, without any, those that the user declares. Their shapes are whole.
func (c *completion) inputs() ([]service.TensorSpec, error) {
	c.batches = map[string]bool{}
	var out []service.TensorSpec
	for _, spec := range c.model.Inputs {
		spec, err := c.stated(spec)
		if err != nil {
			return nil, err
		}
		out = append(out, spec)
	}
	if len(out) > 0 {
		return out, nil
	}
	names := maps.Clone(c.file)
	for name := range c.in.Shapes {
		names[name] = nil
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		spec, err := c.unstated(name)
		if err != nil {
			return nil, err
		}
		out = append(out, spec)
	}
	if len(out) == 0 {
		return nil, c.undeclared("each of them")
	}
	return out, nil
}

// expected are the outputs that the input data expects, with their datatypes.
func expected(all declarations) []service.TensorSpec {
	out := []service.TensorSpec{} // JSON then has an empty list
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		if d.datatype == tensor.Invalid {
			continue
		}
		shape := slices.Clone(d.shape)
		if d.single && len(shape) > 0 {
			shape[0] = -1
		}
		out = append(out, service.TensorSpec{Name: name, Type: d.datatype, Shape: shape})
	}
	return out
}

// stated is an input of the metadata with the shape that the user gives it: the whole shape, or the shape of one item.
func (c *completion) stated(spec service.TensorSpec) (service.TensorSpec, error) {
	batch := len(spec.Shape) > 0 && spec.Shape[0] == -1
	file := c.file[spec.Name]
	if t := c.datatype(spec.Name); t != tensor.Invalid && t != spec.Type {
		return spec, fmt.Errorf("input %s of model %q has the datatype %s, not %s", spec.Name, c.model.Name, spec.Type, t)
	}
	given, ok := c.in.Shapes[spec.Name]
	switch {
	case !ok:
		c.batches[spec.Name] = batch && (file == nil || len(file.shape) != len(spec.Shape) || file.single)
		return spec, nil
	case batch && given[0] > 0 && spec.Shape[1:].Accepts(given):
		given = append([]int64{-1}, given...)
	case !fits(spec.Shape, given):
		return spec, fmt.Errorf("--shape %s:%s does not fit input %s of model %q, which has the shape %s", spec.Name, dims(given), spec.Name, c.model.Name, spec.Shape)
	}
	c.batches[spec.Name] = given[0] == -1 || batch && given[0] == 1
	spec.Shape = given
	return spec, nil
}

// unstated is an input that the user declares.
func (c *completion) unstated(name string) (service.TensorSpec, error) {
	spec := service.TensorSpec{Name: name, Type: c.datatype(name), Shape: c.in.Shapes[name]}
	if file := c.file[name]; spec.Shape == nil && file != nil {
		spec.Shape = file.shape
	}
	if spec.Type == tensor.Invalid || spec.Shape == nil {
		return spec, c.undeclared(name)
	}
	if _, given := c.in.Shapes[name]; given {
		c.batches[name] = spec.Shape[0] == -1 || spec.Shape[0] == 1
	} else {
		c.batches[name] = c.file[name].single
	}
	return spec, nil
}

func (c *completion) undeclared(name string) error {
	return fmt.Errorf(`the server does not state the inputs of model %q: say what %s is with --shape NAME:DATATYPE:DIMENSIONS, such as INPUT0:FP32:-1,224, `+
		`or with "datatype" and "shape" in --input-data; -1 is the batch dimension`, c.model.Name, name)
}

// datatype is the one that the user declares; Invalid is none.
func (c *completion) datatype(name string) tensor.Datatype {
	if t, ok := c.in.Datatypes[name]; ok {
		return t
	}
	if file := c.file[name]; file != nil {
		return file.datatype
	}
	return tensor.Invalid
}

// batched takes the batch dimension out of the shapes, if every input has it.
func (c *completion) batched() (*service.Model, error) {
	m := &c.model
	i := slices.IndexFunc(m.Inputs, func(s service.TensorSpec) bool { return !c.batches[s.Name] })
	if i < 0 {
		m.MaxBatch = math.MaxInt32 // the server states no limit
		m.Inputs, m.Outputs = items(m.Inputs, true), items(m.Outputs, false)
		return m, nil
	}
	alone := m.Inputs[i]
	if c.in.Batch > 1 {
		return nil, fmt.Errorf("-b %d needs inputs that begin with a batch dimension, and input %s of model %q has the shape %s: give its whole shape with -1 as the first dimension, as in --shape %s:%s:-1,224",
			c.in.Batch, alone.Name, m.Name, alone.Shape, alone.Name, alone.Type)
	}
	for name, shape := range c.in.Shapes {
		if shape[0] == -1 {
			return nil, fmt.Errorf("--shape %s:%s begins with a batch dimension, and input %s has none: its shape is %s", name, dims(shape), alone.Name, alone.Shape)
		}
	}
	return m, nil
}

// items are the tensors without their batch dimension; outputs may have none.
func items(specs []service.TensorSpec, all bool) []service.TensorSpec {
	specs = slices.Clone(specs)
	for i := range specs {
		if s := specs[i].Shape; all || len(s) > 0 && s[0] == -1 {
			specs[i].Shape = s[1:]
		}
	}
	return specs
}

// fits tells whether a shape fits that of the metadata; the first dimension may be -1.
func fits(stated tensor.Shape, given []int64) bool {
	if len(given) > 0 && given[0] == -1 && len(stated) > 0 {
		return len(given) == len(stated) && stated[1:].Accepts(given[1:])
	}
	return stated.Accepts(given)
}

// dims are dimensions as --shape has them.
func dims(shape []int64) string { return strings.Trim(tensor.Shape(shape).String(), "[]") }
