package workload

import (
	"cmp"
	"fmt"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// declaration is what JSON input data says of an input beside its values.
type declaration struct {
	datatype tensor.Datatype // Invalid: it says none
	shape    tensor.Shape    // nil: it says none; dimensions that differ between steps are -1
	single   bool            // the first dimension is 1 in every step
}

// declarations are those of tensors by their names.
type declarations map[string]*declaration

// declared reads the "datatype" and "shape" of every input and of every expected output in JSON input data.
func declared(in plan.Input) (inputs, outputs declarations, err error) {
	inputs, outputs = declarations{}, declarations{}
	if in.Source != plan.JSONFiles {
		return inputs, outputs, nil
	}
	for _, path := range in.Paths {
		root, err := parseFile(path)
		if err != nil {
			return nil, nil, err
		}
		data, _ := root.Get("data")
		expected, _ := root.Get("validation_data")
		if err := cmp.Or(inputs.entries(data), outputs.entries(expected)); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return inputs, outputs, nil
}

// entries takes in the steps of a list, and of the lists in it.
func (all declarations) entries(list jsonscan.Value) error {
	for entry := range list.Elements() {
		read := all.step
		if entry.Kind() == jsonscan.Array {
			read = all.entries
		}
		if err := read(entry); err != nil {
			return err
		}
	}
	return nil
}

// step takes in the tensors of one step.
func (all declarations) step(step jsonscan.Value) error {
	for key, v := range step.Members() {
		name := string(key.AppendText(nil))
		if name == "model" {
			continue
		}
		d := all[name]
		if d == nil {
			d = &declaration{single: true}
			all[name] = d
		}
		if err := d.add(name, v); err != nil {
			return err
		}
	}
	return nil
}

// add takes in one tensor of the input.
func (d *declaration) add(name string, v jsonscan.Value) error {
	if text, ok := v.Get("datatype"); ok {
		t, known := tensor.ParseDatatype(string(text.AppendText(nil)))
		switch {
		case !known || t == tensor.JSON:
			return fmt.Errorf(`"datatype" of %s is %s, and must be that of a tensor, such as FP32, INT64 or BYTES`, name, text)
		case d.datatype != tensor.Invalid && d.datatype != t:
			return fmt.Errorf(`"datatype" of %s is %s in one step and %s in another`, name, d.datatype, t)
		}
		d.datatype = t
	}
	given, ok := v.Get("shape")
	if !ok {
		return nil
	}
	shape, err := dimensions(given)
	if err != nil {
		return err
	}
	d.single = d.single && len(shape) > 0 && shape[0] == 1
	if d.shape == nil {
		d.shape = shape
		return nil
	}
	for i := range min(len(shape), len(d.shape)) {
		if d.shape[i] != shape[i] {
			d.shape[i] = -1
		}
	}
	return nil
}
