package rest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/tensor"
)

// copyLimit is the size up to which a request with variable parts is put together in the slot's buffer. Above
// it, what never changes is written from where it lies.
const copyLimit = 8 << 10

// request is a prepared request. The bytes of all sends together are
//
//	first  <json length> middle <content length> start <id> " [parameters] rest
//
// where rest runs from the end of the id to the end of the body.
type request struct {
	fixed  []byte // the whole request with an empty id and no sequence parameters
	first  []byte
	middle []byte
	start  []byte
	rest   []byte
	json   int // length of the JSON part with an empty id and no parameters
	body   int // length of the whole body, likewise
	expect []tensor.Tensor

	// Where answers go to the memory of one slot, rest ends before the outputs, and they follow it.
	outputs []byte
	slot    *share.Slot
}

// Prepare renders a request as Triton's C++ client would.
func (s *Service) Prepare(in service.Inputs) (service.Request, error) {
	r := &request{expect: in.Expect}
	tail, data, err := s.encode(in)
	if err != nil {
		return nil, err
	}
	if s.shared != nil {
		outs, err := s.shared.Outputs(s.model, in.Outputs)
		if err != nil {
			return nil, err
		}
		r.outputs = s.appendOutputs(nil, nil, outs)
		tail = append(tail, r.outputs...)
	} else {
		tail = s.appendOutputs(tail, in.Outputs, nil)
	}
	const open, quote = `{"id":"`, `"`
	r.json = len(open) + len(quote) + len(tail)
	r.body = r.json
	for _, d := range data {
		r.body += len(d)
	}
	s.largest.See(r.body)
	kind := "application/octet-stream"
	if len(data) == 0 && s.asJSON(s.input.InputFormat) {
		kind = "application/json"
	}
	path := modelPath(s.target.Model, s.target.Version) + "/infer"
	if s.target.Streaming {
		path += "_stream"
	}
	r.first = s.at.AppendStart(nil, "POST", path)
	r.first = append(r.first, headerLength+": "...)
	r.middle = s.at.AppendUser(append([]byte("\r\nContent-Type: "), kind+"\r\n"...))
	r.middle = append(r.middle, "Content-Length: "...)
	r.start = append([]byte("\r\n\r\n"), open...)

	f := make([]byte, 0, len(r.first)+len(r.middle)+len(r.start)+r.body+2*len("18446744073709551615"))
	f = r.appendHead(f, 0)
	at := len(f)
	f = append(f, quote...)
	f = append(f, tail...)
	for _, d := range data {
		f = append(f, d...)
	}
	r.fixed, r.rest = f, f[at+len(quote):]
	return r, nil
}

// appendHead renders everything up to the place of the id, for a JSON part that is extra bytes longer.
func (r *request) appendHead(b []byte, extra int) []byte {
	b = append(b, r.first...)
	b = strconv.AppendInt(b, int64(r.json+extra), 10)
	b = append(b, r.middle...)
	b = strconv.AppendInt(b, int64(r.body+extra), 10)
	return append(b, r.start...)
}

// render gives the bytes to write for one send, in one piece or two, and how many of them are the HTTP body.
// scratch is the slot's own; what it has grown to comes back in it.
func (r *request) render(scratch *[]byte, v *service.Vars) (head, rest []byte, size int) {
	if !v.HasID && !v.Present && r.slot == nil {
		return r.fixed, nil, r.body
	}
	var room [160]byte
	vars := appendVars(room[:0], v)
	extra := len(vars) - 1 // the quote after the id is counted already
	b := r.appendHead((*scratch)[:0], extra)
	b = append(b, vars...)
	switch {
	case r.slot != nil:
		b = append(b, r.rest...)
		b = append(b, r.outputs...)
	case len(r.rest) > copyLimit:
		rest = r.rest
	default:
		b = append(b, r.rest...)
	}
	*scratch = b
	return b, rest, r.body + extra
}

// appendVars renders the id with the quote behind it, and the parameters.
func appendVars(b []byte, v *service.Vars) []byte {
	if v.HasID {
		b = strconv.AppendUint(b, v.ID, 10)
	}
	b = append(b, '"')
	if v.Present {
		b = append(b, `,"parameters":{"sequence_id":`...)
		if v.SeqName != "" {
			b = tensor.AppendQuoted(b, v.SeqName)
		} else {
			b = strconv.AppendUint(b, v.SeqID, 10)
		}
		b = append(b, `,"sequence_start":`...)
		b = strconv.AppendBool(b, v.Start)
		b = append(b, `,"sequence_end":`...)
		b = strconv.AppendBool(b, v.End)
		b = append(b, '}')
	}
	return b
}

// encode renders the JSON after the id and its quote up to the outputs, and lists the binary data that follows it.
func (s *Service) encode(in service.Inputs) (tail []byte, data [][]byte, err error) {
	in.Tensors = slices.SortedFunc(slices.Values(in.Tensors), func(a, b tensor.Tensor) int { return cmp.Compare(a.Name, b.Name) })
	var refs []share.Ref
	if s.shared != nil {
		refs = s.shared.Inputs(in)
	}
	tail = append(tail, `,"inputs":[`...)
	for i, t := range in.Tensors {
		if i > 0 {
			tail = append(tail, ',')
		}
		tail = append(tail, `{"name":`...)
		tail = tensor.AppendQuoted(tail, t.Name)
		tail = append(tail, `,"datatype":"`+t.Type.String()+`","shape":`+t.Shape.String()+`,`...)
		var raw []byte
		if refs != nil {
			tail = appendRegion(tail, refs[i])
		} else if tail, raw, err = s.place(tail, t); err != nil {
			return nil, nil, err
		}
		tail = append(tail, '}')
		if raw != nil {
			data = append(data, raw)
		}
	}
	return append(tail, ']'), data, nil
}

// asJSON tells whether tensors go as text: as asked for, else where the server does not take bytes.
func (s *Service) asJSON(asked plan.TensorFormat) bool {
	if asked == "" {
		return s.model != nil && !s.model.BinaryData
	}
	return asked == plan.JSONTensors
}

// place renders where the data of one input is: after the JSON, or inside of it. What goes after it is returned.
func (s *Service) place(b []byte, t tensor.Tensor) (tail, raw []byte, err error) {
	text := s.asJSON(s.input.InputFormat)
	if text {
		err = jsonForm(t)
	}
	if !text || err != nil && s.input.InputFormat == "" { // the server may take bytes although it does not say so
		b = append(b, `"parameters":{"binary_data_size":`...)
		b = strconv.AppendInt(b, int64(len(t.Data)), 10)
		return append(b, '}'), t.Data, nil
	}
	if err != nil {
		return nil, nil, err
	}
	b, err = tensor.AppendJSON(append(b, `"data":`...), t.Type, t.Data)
	if err != nil {
		return nil, nil, fmt.Errorf("input %s as JSON: %w", t.Name, err)
	}
	return b, nil, nil
}

// jsonForm returns an error if JSON cannot carry the tensor.
func jsonForm(t tensor.Tensor) error {
	switch {
	case t.Type == tensor.FP16 || t.Type == tensor.BF16:
		return service.NoJSONForm.With(t.Type)
	case t.Type == tensor.Bytes && !allUTF8(t.Data):
		return fmt.Errorf("input %s holds bytes that are not UTF-8, which JSON cannot carry: use the binary data format", t.Name)
	}
	return nil
}

func allUTF8(data []byte) bool {
	for len(data) > 0 {
		e, rest, err := tensor.NextElement(data)
		if err != nil {
			return true // AppendJSON finds the same fault and names it
		}
		if !utf8.Valid(e) {
			return false
		}
		data = rest
	}
	return true
}

// appendOutputs renders the outputs that are asked for, by name or by where they go, and the end of the JSON.
func (s *Service) appendOutputs(b []byte, names []string, refs []share.Ref) []byte {
	between := `,"outputs":[`
	for _, name := range slices.Sorted(slices.Values(names)) {
		b = append(append(b, between...), `{"name":`...)
		b = tensor.AppendQuoted(b, name)
		b = append(b, `,"parameters":{"binary_data":`...)
		b = strconv.AppendBool(b, !s.asJSON(s.input.OutputFormat))
		b = append(b, "}}"...)
		between = ","
	}
	for _, ref := range refs {
		b = append(append(b, between...), `{"name":`...)
		b = tensor.AppendQuoted(b, ref.Tensor)
		b = append(appendRegion(append(b, ','), ref), '}')
		between = ","
	}
	if len(names)+len(refs) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}
