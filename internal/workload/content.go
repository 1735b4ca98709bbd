package workload

import (
	"encoding/base64"
	"math"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// tensor reads one tensor: an array of values, or an object with "content" or "b64" and perhaps "shape".
func (f *files) tensor(v jsonscan.Value, spec service.TensorSpec, at place, output bool) (datum, error) {
	if raw, ok := verbatim(v, spec); ok {
		return raw, nil
	}
	shape, content := spec.Shape, v
	switch v.Kind() {
	case jsonscan.Array:
	case jsonscan.Object:
		if given, ok := v.Get("shape"); ok {
			var err error
			if shape, err = dimensions(given); err != nil {
				return datum{}, err
			}
			if f.d.whole && len(shape) == len(spec.Shape)+1 && shape[0] == 1 {
				shape = shape[1:]
			}
		}
		if _, ok := v.Get("b64"); ok {
			break
		}
		var ok bool
		if content, ok = v.Get("content"); !ok {
			return datum{}, dataError(`a tensor in step %[2]d of stream %[1]d has neither "content" nor "b64"`, at.stream, at.step)
		}
	default:
		return datum{}, dataError(malformed)
	}
	data, err := f.content(content, spec, at)
	if err != nil {
		return datum{}, err
	}
	return check(spec, shape, data, output)
}

// verbatim reads what needs no array around it: a single string, such as a command, where the input is one
// string without dimensions; and any JSON where the input is JSON of any number of values.
func verbatim(v jsonscan.Value, spec service.TensorSpec) (datum, bool) {
	switch {
	case spec.Type == tensor.Bytes && spec.Shape != nil && len(spec.Shape) == 0 && v.Kind() == jsonscan.String:
		return datum{set: true, shape: spec.Shape, data: tensor.AppendElement(nil, v.AppendText(nil))}, true
	case spec.Type == tensor.JSON && spec.Shape.Dynamic():
		return datum{set: true, shape: tensor.Shape{1}, data: v.Append(nil)}, true
	}
	return datum{}, false
}

func dimensions(v jsonscan.Value) (tensor.Shape, error) {
	if v.Kind() != jsonscan.Array && v.Kind() != jsonscan.Null {
		return nil, dataError(badShape)
	}
	shape := tensor.Shape{}
	for e := range v.Elements() {
		d, ok := e.Int64()
		if !ok || d < math.MinInt32 || d > math.MaxInt32 {
			return nil, dataError(badShape)
		}
		shape = append(shape, d)
	}
	return shape, nil
}

// content turns the values of a tensor into raw bytes of their own, so that the file's text can be let go.
func (f *files) content(v jsonscan.Value, spec service.TensorSpec, at place) ([]byte, error) {
	if v.Kind() == jsonscan.Array {
		raw, err := tensor.AppendValues(f.scratch[:0], spec.Type, v)
		if err != nil {
			return nil, &DataError{Err: err}
		}
		f.scratch = raw
		return append(make([]byte, 0, len(raw)), raw...), nil
	}
	code, ok := v.Get("b64")
	if !ok {
		return nil, dataError(`a tensor in step %[2]d of stream %[1]d must be a list of values, or {"b64": "..."}`, at.stream, at.step)
	}
	if code.Kind() != jsonscan.String {
		return nil, dataError(`"b64" in step %[2]d of stream %[1]d must be a string`, at.stream, at.step)
	}
	f.scratch = code.AppendText(f.scratch[:0])
	return decode(f.scratch), nil
}

// decode reads base64 with or without padding. Other characters are skipped: where they
// are not white space, the check of the size fails. It changes text.
func decode(text []byte) []byte {
	kept := text[:0]
	for _, b := range text {
		if 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '+' || b == '/' {
			kept = append(kept, b)
		}
	}
	if len(kept)%4 == 1 {
		kept = kept[:len(kept)-1] // six bits are no byte
	}
	raw := make([]byte, base64.RawStdEncoding.DecodedLen(len(kept)))
	n, _ := base64.RawStdEncoding.Decode(raw, kept) // cannot fail: only letters of the alphabet are left
	return raw[:n]
}

// check holds the shape of a tensor against the model's, and its size against the shape. What is expected of
// an output may have any shape that the model allows, also one that is not known; a shape given for an
// output of fixed shape is not looked at.
func check(spec service.TensorSpec, shape tensor.Shape, data []byte, output bool) (datum, error) {
	if output && !spec.Shape.Dynamic() {
		shape = spec.Shape
	}
	if shape.Dynamic() {
		if output {
			return datum{set: true, data: data}, nil
		}
		return datum{}, dataError(`input %s has the variable shape %s: add "shape" to its data, or use --shape`, spec.Name, spec.Shape)
	}
	if !spec.Shape.Accepts(shape) {
		return datum{}, dataError(OtherShape, shape, spec.Name, spec.Shape)
	}
	if want := tensor.ByteSize(spec.Type, shape); want >= 0 && want != int64(len(data)) {
		return datum{}, dataError(OtherSize, spec.Name, want, len(data))
	}
	return datum{set: true, shape: shape, data: data}, nil
}
