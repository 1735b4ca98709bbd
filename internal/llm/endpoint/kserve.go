package endpoint

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// kserve is a model over KServe's gRPC: a model of text (text_input, text_output), such as TensorRT-LLM's ensemble and the vLLM
// backend, or a model of token ids (input_ids, output_ids), such as the engine itself. The model's metadata determine the other
// inputs of a request.
type kserve struct {
	common
	text bool
}

// defaultTokens is the output length if none is requested and the model requires one.
const defaultTokens = 16

func newKServe(c common) (Endpoint, error) {
	k := &kserve{common: c, text: c.Kind == KServeText}
	m := c.Metadata
	if m == nil {
		return nil, formatf("the model's metadata are needed")
	}
	in, out := "text_input", "text_output"
	if !k.text {
		in, out = "input_ids", "output_ids"
		if c.Encode == nil {
			return nil, formatf("model %s takes token ids: a tokenizer is needed to make them, see --tokenizer", m.Name)
		}
	}
	if _, ok := m.Input(in); !ok {
		return nil, formatf("model %s has no input %s: %s", m.Name, in, other(k.text))
	}
	if _, ok := m.Output(out); !ok {
		return nil, formatf("model %s has no output %s: %s", m.Name, out, other(k.text))
	}
	for _, f := range c.extra {
		if _, ok := m.Input(f.name); !ok {
			return nil, formatf("--extra-inputs: model %s has no input %s; its inputs are %s", m.Name, f.name, inputNames(m))
		}
	}
	if c.ExactOutput && !slices.ContainsFunc(leastInputs, func(name string) bool { _, ok := m.Input(name); return ok }) {
		return nil, formatf("model %s has none of the inputs %s: it cannot be asked for an exact output length", m.Name, strings.Join(leastInputs, ", "))
	}
	return k, nil
}

// leastInputs are inputs that can carry the least number of tokens of a response.
var leastInputs = []string{"min_length", "min_tokens", "sampling_parameters"}

func inputNames(m *service.Model) string {
	var list []string
	for _, in := range m.Inputs {
		list = append(list, in.Name)
	}
	return strings.Join(list, ", ")
}

func other(text bool) string {
	if text {
		return "use --endpoint-type kserve_tokens for models of token ids"
	}
	return "use --endpoint-type kserve for models of text"
}

func (c *kserve) Path() string { return "" }

func (c *kserve) Inputs(r *Request) (service.Inputs, error) {
	var in service.Inputs
	t := r.turn()
	if err := carried(c.Kind, t); err != nil {
		return in, err
	}
	extra := map[string]json.RawMessage{}
	for _, list := range [2][]field{c.extra, fields(t.Extra)} {
		for _, f := range list {
			extra[f.name] = f.value
		}
	}
	texts, err := c.prompts(r)
	if err != nil {
		return in, err
	}
	text := strings.Join(texts, " ")
	var ids []int32
	if !c.text {
		ids = c.Encode(text)
	}
	for _, spec := range c.Metadata.Inputs {
		data, n, err := c.input(&spec, r, extra, text, ids)
		if err != nil {
			return in, err
		}
		if data == nil {
			continue
		}
		shape := tensor.Shape{n}
		if len(spec.Shape) == 0 {
			shape = nil
		}
		for i := 1; i < len(spec.Shape); i++ {
			shape = append(tensor.Shape{1}, shape...)
		}
		if c.Metadata.MaxBatch > 0 {
			shape = append(tensor.Shape{1}, shape...)
		}
		in.Tensors = append(in.Tensors, tensor.Tensor{Name: spec.Name, Type: spec.Type, Shape: shape, Data: data})
	}
	return in, nil
}

// input returns the data of one input and its number of elements; none for an optional input without a known value.
func (c *kserve) input(spec *service.TensorSpec, r *Request, extra map[string]json.RawMessage, text string, ids []int32) ([]byte, int64, error) {
	if v, ok := extra[spec.Name]; ok {
		if len(v) == 0 || v[0] != '[' {
			v = append(append([]byte{'['}, v...), ']')
		}
		data, err := tensor.AppendRaw(nil, spec.Type, v)
		if err != nil {
			return nil, 0, formatf("input %s: %v", spec.Name, err)
		}
		var list []json.RawMessage
		if err := json.Unmarshal(v, &list); err != nil {
			return nil, 0, formatf("input %s: %v", spec.Name, err)
		}
		return data, int64(len(list)), nil
	}
	limit := r.MaxTokens
	switch spec.Name {
	case "text_input":
		return tensor.AppendElement(nil, text), 1, nil
	case "input_ids":
		return whole32(spec.Type, ids...), int64(len(ids)), nil
	case "input_lengths":
		return whole32(spec.Type, int32(len(ids))), 1, nil
	case "max_tokens", "request_output_len":
		if limit == 0 && spec.Optional {
			return nil, 0, nil
		}
		return whole32(spec.Type, int32(cmp.Or(limit, defaultTokens))), 1, nil
	case "stream", "streaming":
		return truth(c.Stream), 1, nil
	case "exclude_input_in_output", "exclude_input_from_output":
		return truth(true), 1, nil
	case "sampling_parameters":
		if limit == 0 {
			return nil, 0, nil
		}
		params := `{"max_tokens":` + strconv.Itoa(limit)
		if c.ExactOutput {
			params += `,"min_tokens":` + strconv.Itoa(limit) + `,"ignore_eos":true`
		}
		return tensor.AppendElement(nil, params+"}"), 1, nil
	case "min_length", "min_tokens":
		if c.ExactOutput && limit > 0 {
			return whole32(spec.Type, int32(limit)), 1, nil
		}
	}
	if spec.Optional {
		return nil, 0, nil
	}
	return zero(spec.Type), 1, nil
}

// whole32 encodes numbers in the model's type.
func whole32(t tensor.Datatype, list ...int32) []byte {
	b := []byte{}
	for _, v := range list {
		if t.Size() == 8 {
			b = binary.LittleEndian.AppendUint64(b, uint64(int64(v)))
		} else {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
	}
	return b
}

func truth(v bool) []byte {
	if v {
		return []byte{1}
	}
	return []byte{0}
}

// zero is one element of a required input without a known value.
func zero(t tensor.Datatype) []byte {
	if t == tensor.Bytes {
		return tensor.AppendElement(nil, "")
	}
	return make([]byte, t.Size())
}

// The field numbers of KServe's ModelInferResponse, and those of its outputs.
const (
	FieldOutputs = 5
	FieldRaw     = 6
	outputName   = 1
	outputType   = 2
)

// Event reads the outputs from the message without copying it.
func (c *kserve) Event(a *Answer, payload []byte, at int64) {
	a.begin()
	a.Streamed = c.Stream
	var types [8]string // types of the outputs, by position; empty for outputs that are not needed
	outputs, raws := 0, 0
	whole := Fields(payload, func(field protowire.Number, v []byte) {
		switch field {
		case FieldOutputs:
			if outputs < len(types) {
				types[outputs] = c.wanted(v)
			}
			outputs++
		case FieldRaw:
			if raws < len(types) && types[raws] != "" {
				c.output(a, types[raws], v)
			}
			raws++
		default:
		}
	})
	if !whole {
		a.fault("this is not a response of a model: not a protobuf message")
		return
	}
	a.chunk(at)
}

// Fields calls fn with every field of a protobuf message that has bytes. It ends with false at the first thing that is not a message.
func Fields(b []byte, fn func(field protowire.Number, value []byte)) bool {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(field, kind, b)
		if size < 0 {
			return false
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(b)
			fn(field, value)
		}
		b = b[size:]
	}
	return true
}

// wanted returns the type of an output with the response's content; empty for other outputs.
func (c *kserve) wanted(b []byte) string {
	name, kind := "", ""
	whole := Fields(b, func(field protowire.Number, v []byte) {
		switch field {
		case outputName:
			name = string(v)
		case outputType:
			kind = string(v)
		default:
		}
	})
	if whole && (c.text && name == "text_output" || !c.text && name == "output_ids") {
		return kind
	}
	return ""
}

// output adds text, or as many tokens as there are ids.
func (c *kserve) output(a *Answer, kind string, data []byte) {
	if !c.text {
		size := 4
		if kind == "INT64" || kind == "UINT64" {
			size = 8
		}
		if n := len(data) / size; n > 0 {
			a.mark(llm.Text)
			a.tokens += int32(n)
			a.usage(&a.Usage.Completion, max(0, a.Usage.Completion)+n, true)
		}
		return
	}
	for len(data) > 0 {
		elem, rest, err := tensor.NextElement(data)
		if err != nil {
			a.fault("text_output: %v", err)
			return
		}
		if len(elem) > 0 {
			a.Text = append(a.Text, elem...)
			a.mark(llm.Text)
		}
		data = rest
	}
}

func (c *kserve) End(a *Answer) error { return whole(a, "a text model", "") }
