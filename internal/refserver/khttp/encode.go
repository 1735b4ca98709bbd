package khttp

import (
	"maps"
	"slices"
	"strconv"

	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/rjson"
	"github.com/redline-bench/redline/internal/tensor"
)

// encode writes a response: its JSON, and the raw tensors that follow it.
func (h *Handler) encode(m *model.Model, req *infer.Request, resp *infer.Response) (head []byte, tail [][]byte, err error) {
	head = append(make([]byte, 0, 512), '{')
	if req.ID != "" {
		head = append(head, `"id":`...)
		head = append(rjson.AppendString(head, req.ID), ',')
	}
	head = append(head, `"model_name":`...)
	head = rjson.AppendString(head, m.Name())
	head = append(head, `,"model_version":`...)
	head = rjson.AppendString(head, resp.Version)
	if len(resp.Params) > 0 {
		head = append(head, `,"parameters":`...)
		head = appendParams(head, resp.Params)
	}
	head = append(head, `,"outputs":[`...)
	for i := range resp.Outputs {
		var raw []byte
		if head, raw, err = h.encodeOutput(rjson.AppendComma(head), m, req, resp.Outputs[i]); err != nil {
			return nil, nil, err
		}
		if raw != nil {
			tail = append(tail, raw)
		}
	}
	return append(head, "]}"...), tail, nil
}

func (h *Handler) encodeOutput(b []byte, m *model.Model, req *infer.Request, t tensor.Tensor) (head, raw []byte, err error) {
	want := req.Output(t.Name)
	if want == nil {
		want = &infer.Output{}
	}
	if want.Classes > 0 {
		if t, err = m.Classify(t, want.Classes); err != nil {
			return nil, nil, err
		}
	}
	b = append(b, `{"name":`...)
	b = rjson.AppendString(b, t.Name)
	b = append(b, `,"datatype":"`...)
	b = append(b, t.Type.String()...)
	b = append(b, `","shape":`...)
	b = rjson.AppendList(b, t.Shape, rjson.AppendInt)
	switch {
	case want.Region != "":
		if uint64(len(t.Data)) > want.Size {
			return nil, nil, infer.Errorf(infer.Internal, "shared memory size specified with the request for output '%s' (%d bytes) should be at least %d bytes to hold the results",
				t.Name, want.Size, len(t.Data))
		}
		if err := h.core.Shared.Write(want.Region, want.Offset, t.Data); err != nil {
			return nil, nil, err
		}
	case want.Binary:
		b = append(b, `,"parameters":{"binary_data_size":`...)
		b = append(strconv.AppendInt(b, int64(len(t.Data)), 10), '}')
		raw = t.Data
		if raw == nil {
			raw = []byte{}
		}
	case t.Type == tensor.FP16 || t.Type == tensor.BF16:
		return nil, nil, infer.Errorf(infer.InvalidArg, "sending %s data via JSON is not supported. Please use the binary data format for output %s", t.Type, t.Name)
	default:
		b = append(b, `,"data":`...)
		b = appendData(b, t)
	}
	return append(b, '}'), raw, nil
}

// appendParams writes free parameters in order of their names.
func appendParams(b []byte, params map[string]any) []byte {
	b = append(b, '{')
	for _, name := range slices.Sorted(maps.Keys(params)) {
		b = appendValue(rjson.AppendName(b, name), params[name])
	}
	return append(b, '}')
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case uint64:
		return strconv.AppendUint(b, v, 10)
	case float64:
		return rjson.AppendFloat(b, v)
	case string:
		return rjson.AppendString(b, v)
	}
	return append(b, "null"...)
}
