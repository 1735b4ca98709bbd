package khttp

import (
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/rjson"
	"github.com/redline-bench/redline/internal/tensor"
)

func (rd *reader) inputs(list *rjson.Value) error {
	switch {
	case list == nil:
		return missing("inputs")
	case list.Kind != rjson.Array:
		return wrong("inputs", notArray)
	}
	for i := range list.Items {
		t, err := rd.input(&list.Items[i])
		if err != nil {
			return err
		}
		rd.req.Inputs = append(rd.req.Inputs, t)
	}
	if len(rd.binary) > 0 {
		return bad("unexpected additional input data for model '%s'", rd.model.Name())
	}
	return nil
}

func (rd *reader) input(v *rjson.Value) (tensor.Tensor, error) {
	var t tensor.Tensor
	par, data := v.Find("parameters"), v.Find("data")
	size, region := par.Find("binary_data_size"), par.Find("shared_memory_region")
	if err := oneSource(data, size, region); err != nil {
		return t, err
	}
	if err := rd.describe(v, &t); err != nil {
		return t, err
	}
	var err error
	switch {
	case size != nil:
		t.Data, err = rd.binaryData(t.Name, size)
	case region != nil:
		var name string
		var offset, length uint64
		if name, offset, length, err = sharedPart(par); err == nil {
			t.Data, err = rd.h.core.Shared.Read(name, offset, length)
		}
	default:
		t.Data, err = jsonData(data, t)
	}
	return t, err
}

// oneSource checks that an input says exactly once where its data is.
func oneSource(data, size, region *rjson.Value) error {
	count, list := 0, ""
	for _, s := range []struct {
		v    *rjson.Value
		name string
	}{{data, " 'data'"}, {size, " 'binary_data_size'"}, {region, " 'shared_memory_region'"}} {
		if s.v != nil {
			count++
			list += s.name
		}
	}
	if count == 1 {
		return nil
	}
	tail := " set" + list
	if count == 0 {
		tail = " no field is set"
	}
	return bad("Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'. But%s", tail)
}

// describe reads name, datatype and shape.
func (rd *reader) describe(v *rjson.Value, t *tensor.Tensor) error {
	for _, field := range []string{"name", "datatype"} {
		f := v.Find(field)
		if f == nil {
			return missing(field)
		}
		if f.Kind != rjson.String {
			return wrong(field, notString)
		}
	}
	t.Name = v.Find("name").Text
	shape := v.Find("shape")
	if shape == nil {
		return missing("shape")
	}
	if shape.Kind != rjson.Array {
		return wrong("shape", notArray)
	}
	t.Shape = make(tensor.Shape, 0, len(shape.Items))
	for i := range shape.Items {
		d, ok := shape.Items[i].Uint()
		if !ok {
			return wrong("shape", notUnsigned)
		}
		t.Shape = append(t.Shape, int64(d))
	}
	kind, ok := tensor.ParseDatatype(v.Find("datatype").Text)
	if !ok || kind == tensor.JSON {
		return bad("invalid datatype for input %s", t.Name)
	}
	t.Type = kind
	if rd.req.Input(t.Name) != nil {
		return bad("%sinput '%s' already exists in request", rd.req.Label(), t.Name)
	}
	return nil
}

func (rd *reader) binaryData(name string, size *rjson.Value) ([]byte, error) {
	n, ok := size.Uint()
	if !ok {
		return nil, wrong("binary_data_size", notUnsigned)
	}
	if have := uint64(len(rd.binary)); n > have {
		return nil, bad("unexpected size for input '%s', expecting %d additional bytes for model '%s'", name, n-have, rd.model.Name())
	}
	data := rd.binary[:n:n]
	rd.binary = rd.binary[n:]
	return data, nil
}

// jsonData turns the numbers or strings of a tensor into its raw form. They may be nested in any way.
func jsonData(v *rjson.Value, t tensor.Tensor) ([]byte, error) {
	count := int64(1)
	for _, d := range t.Shape {
		if d < 0 || d > 0 && count > (1<<40)/d {
			return nil, bad("invalid shape for input '%s': shape %s contains one or more invalid dimensions", t.Name, t.Shape)
		}
		count *= d
	}
	if count == 0 {
		return nil, nil
	}
	if v.Kind != rjson.Array {
		return nil, wrong("data", notArray)
	}
	if t.Type == tensor.Bytes {
		return jsonStrings(nil, v)
	}
	if t.Type == tensor.FP16 || t.Type == tensor.BF16 {
		return nil, bad("receiving %s data via JSON is not supported. Please use the binary data format for input %s", t.Type, t.Name)
	}
	// The size in the shape is only a claim: room is made for what the text can hold.
	w := &elements{kind: t.Type, left: count, out: make([]byte, 0, min(count, int64(len(v.Items))+16)*int64(t.Type.Size()))}
	if err := w.add(v); err != nil {
		return nil, err
	}
	if w.left != 0 {
		return nil, wrong("data", "Shape does not match true shape of 'data' field")
	}
	return w.out, nil
}

func jsonStrings(out []byte, v *rjson.Value) ([]byte, error) {
	switch v.Kind {
	case rjson.Array:
		var err error
		for i := range v.Items {
			if out, err = jsonStrings(out, &v.Items[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case rjson.String:
		return tensor.AppendElement(out, v.Text), nil
	case rjson.Null, rjson.Bool, rjson.Number, rjson.Object:
	}
	return nil, infer.Errorf(infer.Internal, "Unable to parse JSON bytes array: %s", notString)
}
