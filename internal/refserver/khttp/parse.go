package khttp

import (
	"errors"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/rjson"
	"github.com/redline-bench/redline/internal/tensor"
)

func bad(format string, args ...any) error { return infer.Errorf(infer.InvalidArg, format, args...) }

// The texts of Triton's JSON reader for a value of the wrong kind.
const (
	notString   = "attempt to access JSON non-string as string"
	notBool     = "attempt to access JSON non-boolean as boolean"
	notArray    = "attempt to access JSON non-array as array"
	notUnsigned = "attempt to access JSON non-unsigned-integer as unsigned-integer"
	notSigned   = "attempt to access JSON non-signed-integer as signed-integer"
	notNumber   = "attempt to access JSON non-number as double"
)

// wrong is an error about one member of the JSON.
func wrong(name, text string) error {
	return infer.Errorf(infer.Internal, "Unable to parse '%s': %s", name, text)
}

func missing(name string) error {
	return wrong(name, "attempt to access non-existing object member '"+name+"'")
}

// parseJSON reads a JSON text of at most so many bytes with Triton's words for its mistakes.
func parseJSON(text []byte, most int64) (*rjson.Value, error) {
	if most > 0 && int64(len(text)) > most {
		return nil, bad("request JSON size of %d bytes exceeds the maximum allowed input size of %d bytes. Use --http-max-input-size to increase the limit.", len(text), most)
	}
	v, err := rjson.Parse(text)
	if syntax, ok := errors.AsType[*rjson.SyntaxError](err); ok {
		return nil, infer.Errorf(infer.Internal, "failed to parse the request JSON buffer: %s", syntax.Error())
	}
	return v, err
}

// reader takes a request apart.
type reader struct {
	h      *Handler
	model  *model.Model
	req    *infer.Request
	binary []byte // the raw tensors that no input has taken yet
	header int
	output bool // outputs that are not named are raw
}

// parse reads the body of an inference request; size is the length of the JSON in front.
func (h *Handler) parse(m *model.Model, body []byte, size int) (*infer.Request, error) {
	rd := &reader{h: h, model: m, req: &infer.Request{}, binary: body[size:], header: size}
	if size == 0 {
		rd.output = true // raw in, raw out
		if err := rd.raw(); err != nil {
			return nil, err
		}
		return rd.req, rd.outputs(nil)
	}
	doc, err := parseJSON(body[:size], h.core.MaxInput)
	if err != nil {
		return nil, err
	}
	if id := doc.Find("id"); id != nil {
		if id.Kind != rjson.String {
			return nil, wrong("id", notString)
		}
		rd.req.ID = id.Text
	}
	if err := rd.parameters(doc.Find("parameters")); err != nil {
		return nil, err
	}
	if err := rd.inputs(doc.Find("inputs")); err != nil {
		return nil, err
	}
	return rd.req, rd.outputs(doc.Find("outputs"))
}

// raw takes the whole body as the one input of the model.
func (rd *reader) raw() error {
	if most := rd.h.core.MaxInput; most > 0 && int64(len(rd.binary)) > most {
		return bad("Raw input has a byte_size (%d bytes) that exceeds the maximum allowed value of %d bytes. Use --http-max-input-size to increase the limit.", len(rd.binary), most)
	}
	ins := rd.model.Describe().Inputs
	if len(ins) != 1 {
		return bad("%sRaw request must only have 1 input (found 1) to be deduced but got %d inputs in '%s' model configuration", rd.req.Label(), len(ins), rd.model.Name())
	}
	t := tensor.Tensor{Name: ins[0].Name, Type: ins[0].Type, Data: rd.binary}
	elements, free := int64(1), -1
	for i, d := range ins[0].Shape {
		if d < 0 && i == 0 && rd.model.Config.GetMaxBatchSize() > 0 {
			d = 1
		}
		if d < 0 {
			if free >= 0 {
				return bad("%sThe shape of the raw input '%s' can not be deduced because there are more than one variable-sized dimension", rd.req.Label(), t.Name)
			}
			free = i
		} else {
			elements *= d
		}
		t.Shape = append(t.Shape, d)
	}
	if t.Type == tensor.Bytes {
		if free >= 0 || elements != 1 {
			return bad("%sFor BYTE datatype raw input '%s', the model must have input shape [1]", rd.req.Label(), t.Name)
		}
		t.Data = tensor.AppendElement(nil, rd.binary)
	} else if free >= 0 {
		t.Shape[free] = int64(len(rd.binary)) / max(elements, 1) / int64(t.Type.Size())
	}
	rd.req.Inputs = []tensor.Tensor{t}
	return nil
}

func (rd *reader) parameters(list *rjson.Value) error {
	if list == nil {
		return nil
	}
	for i := range list.Members {
		if err := rd.parameter(list.Members[i].Name, &list.Members[i].Value); err != nil {
			return err
		}
	}
	return nil
}

func (rd *reader) parameter(name string, v *rjson.Value) error {
	switch name {
	case "sequence_id":
		if n, ok := v.Uint(); ok {
			rd.req.Sequence.ID = n
			return nil
		}
		if v.Kind != rjson.String {
			return wrong(name, notString)
		}
		rd.req.Sequence.Name = v.Text
	case "sequence_start":
		return boolean(name, v, &rd.req.Sequence.Start)
	case "sequence_end":
		return boolean(name, v, &rd.req.Sequence.End)
	case "binary_data_output":
		return boolean(name, v, &rd.output)
	case "priority":
		return unsigned(name, v, &rd.req.Priority)
	case "timeout":
		var micros uint64
		err := unsigned(name, v, &micros)
		rd.req.Timeout = time.Duration(micros) * time.Microsecond
		return err
	default:
		if strings.HasPrefix(name, "triton_") {
			return bad("parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.")
		}
		return rd.free(name, v)
	}
	return nil
}

// free keeps a parameter that only the model understands.
func (rd *reader) free(name string, v *rjson.Value) error {
	var value any
	switch v.Kind {
	case rjson.String:
		value = v.Text
	case rjson.Bool:
		value = v.True
	case rjson.Number:
		if n, ok := v.Int(); ok {
			value = n
		} else {
			value, _ = v.Float()
		}
	case rjson.Null, rjson.Array, rjson.Object:
		return bad("parameter '%s' has invalid type. It should be either 'int', 'bool', or 'string'.", name)
	}
	if rd.req.Params == nil {
		rd.req.Params = map[string]any{}
	}
	rd.req.Params[name] = value
	return nil
}

func boolean(name string, v *rjson.Value, to *bool) error {
	if v == nil {
		return nil
	}
	if v.Kind != rjson.Bool {
		return wrong(name, notBool)
	}
	*to = v.True
	return nil
}

func unsigned(name string, v *rjson.Value, to *uint64) error {
	if v == nil {
		return nil
	}
	n, ok := v.Uint()
	if !ok {
		return wrong(name, notUnsigned)
	}
	*to = n
	return nil
}

func (rd *reader) outputs(list *rjson.Value) error {
	if list == nil {
		if rd.output {
			for _, out := range rd.model.Describe().Outputs {
				rd.req.Outputs = append(rd.req.Outputs, infer.Output{Name: out.Name, Binary: true})
			}
		}
		return nil
	}
	if list.Kind != rjson.Array {
		return wrong("outputs", notArray)
	}
	for i := range list.Items {
		out, err := rd.oneOutput(&list.Items[i])
		if err != nil {
			return err
		}
		rd.req.Outputs = append(rd.req.Outputs, out)
	}
	return nil
}

func (rd *reader) oneOutput(v *rjson.Value) (infer.Output, error) {
	var out infer.Output
	par := v.Find("parameters")
	name := v.Find("name")
	switch {
	case name == nil:
		return out, missing("name")
	case name.Kind != rjson.String:
		return out, wrong("name", notString)
	}
	out.Name = name.Text
	out.Binary = rd.output
	region := par.Find("shared_memory_region")
	if region != nil && par.Find("classification") != nil {
		return out, bad("Output can't set both 'shared_memory_region' and 'classification'")
	}
	if err := boolean("binary_data", par.Find("binary_data"), &out.Binary); err != nil {
		return out, err
	}
	if region != nil && out.Binary && par.Find("binary_data") != nil {
		return out, bad("Output can't set both 'shared_memory_region' and 'binary_data'")
	}
	var classes uint64
	if unsigned("classification", par.Find("classification"), &classes) != nil {
		return out, infer.Errorf(infer.Internal, "Unable to set 'classification': "+notUnsigned)
	}
	out.Classes = int(min(classes, 1<<31))
	if region == nil {
		return out, nil
	}
	var err error
	out.Region, out.Offset, out.Size, err = sharedPart(par)
	if err == nil {
		err = rd.h.core.Shared.Check(out.Region, out.Offset, out.Size)
	}
	return out, err
}

// sharedPart reads the parameters that name a piece of shared memory.
func sharedPart(par *rjson.Value) (region string, offset, size uint64, err error) {
	name := par.Find("shared_memory_region")
	if name.Kind != rjson.String {
		return "", 0, 0, wrong("shared_memory_region", notString)
	}
	if err := unsigned("shared_memory_offset", par.Find("shared_memory_offset"), &offset); err != nil {
		return "", 0, 0, err
	}
	err = unsigned("shared_memory_byte_size", par.Find("shared_memory_byte_size"), &size)
	return name.Text, offset, size, err
}
