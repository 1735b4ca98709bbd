package inspect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

const (
	// variable is the size of a variable dimension; for strings it is 1.
	variable = 8
	// readable is the number of elements up to which values are written as a list; more of them are base64.
	readable = 256
	// largest is the size limit of one input, at 8 bytes per element.
	largest = 64 << 20
	// sequenceSteps is the number of requests in the data of a sequence.
	sequenceSteps = 3
)

// sample makes an input file for a model, in the form that --input-data reads.
func sample(m *service.Model) ([]byte, error) {
	step, err := sampleStep(m)
	if err != nil {
		return nil, err
	}
	if !m.Sequential() {
		return fmt.Appendf(nil, "{\n  \"data\": [\n%s\n  ]\n}\n", step), nil
	}
	steps := bytes.Join(slices.Repeat([][]byte{step}, sequenceSteps), []byte(",\n"))
	return fmt.Appendf(nil, "{\n  \"data\": [[\n%s\n  ]]\n}\n", steps), nil
}

// sampleStep makes the inputs of one request.
func sampleStep(m *service.Model) ([]byte, error) {
	var lines [][]byte
	for _, spec := range needed(m) {
		name, err := json.Marshal(spec.Name)
		if err != nil {
			return nil, err
		}
		text, err := sampleTensor(spec)
		if err != nil {
			return nil, fmt.Errorf("no input file can be made for model %q: input %s: %w", m.Name, spec.Name, err)
		}
		lines = append(lines, fmt.Appendf(nil, "      %s: %s", name, text))
	}
	return fmt.Appendf(nil, "    {\n%s\n    }", bytes.Join(lines, []byte(",\n"))), nil
}

// needed returns the required inputs; all inputs if none is required.
func needed(m *service.Model) []service.TensorSpec {
	out := slices.DeleteFunc(slices.Clone(m.Inputs), func(s service.TensorSpec) bool { return s.Optional })
	if len(out) == 0 {
		return m.Inputs
	}
	return out
}

// fixed is the shape with sizes in place of its variable dimensions.
func fixed(spec service.TensorSpec) tensor.Shape {
	shape := slices.Clone(spec.Shape)
	for i, d := range shape {
		if d >= 0 {
			continue
		}
		if shape[i] = variable; spec.Type == tensor.Bytes {
			shape[i] = 1
		}
	}
	return shape
}

func sampleTensor(spec service.TensorSpec) ([]byte, error) {
	shape := fixed(spec)
	n := shape.Elements()
	if n > largest/8 {
		return nil, fmt.Errorf("shape %s is too large for a file; profile makes random data without one", shape)
	}
	var raw []byte
	switch {
	case spec.Type == tensor.FP16: // has no form as numbers
		raw = bytes.Repeat([]byte{0, 0x38}, int(n)) // 0.5
	case spec.Type == tensor.BF16:
		raw = bytes.Repeat([]byte{0, 0x3f}, int(n)) // 0.5
	case n > readable && spec.Type != tensor.Bytes:
		var err error
		if raw, err = tensor.AppendRaw(nil, spec.Type, sampleValues(spec, int(n))); err != nil {
			return nil, err
		}
	default:
		return fmt.Appendf(nil, `{"content": %s, "shape": %s}`, sampleValues(spec, int(n)), shape), nil
	}
	return fmt.Appendf(nil, `{"b64": "%s", "shape": %s}`, base64.StdEncoding.EncodeToString(raw), shape), nil
}

// sampleString is a question for models of text. Other models that take strings often read numbers from them.
func sampleString(input string) string {
	for _, word := range []string{"text", "prompt", "query", "question", "sentence"} {
		if strings.Contains(strings.ToLower(input), word) {
			return "Why is the sky blue?"
		}
	}
	return "1"
}

// sampleValues are n small values as a JSON array.
func sampleValues(spec service.TensorSpec, n int) []byte {
	b := []byte{'['}
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		switch spec.Type {
		case tensor.Bool:
			b = strconv.AppendBool(b, i%2 == 1)
		case tensor.Bytes:
			b = strconv.AppendQuote(b, sampleString(spec.Name))
		case tensor.FP32, tensor.FP64:
			b = strconv.AppendFloat(b, float64(i%10)/10, 'g', -1, 64)
		default:
			if spec.ShapeTensor {
				b = append(b, '1')
				continue
			}
			b = strconv.AppendInt(b, int64(i%10), 10)
		}
	}
	return append(b, ']')
}
