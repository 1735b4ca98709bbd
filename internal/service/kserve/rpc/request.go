package rpc

import (
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/h2/zip"
)

// The field numbers of ModelInferRequest and of the messages in it.
const (
	reqModel   = 1
	reqVersion = 2
	reqID      = 3
	reqParams  = 4
	reqInputs  = 5
	reqOutputs = 6
	reqRaw     = 7

	tensorName     = 1
	tensorDatatype = 2
	tensorShape    = 3
	inputParams    = 4
	outputParams   = 2

	mapKey   = 1
	mapValue = 2

	paramBool   = 1
	paramInt    = 2
	paramString = 3
)

// request is a prepared ModelInferRequest: all of it but the id and the parameters of a sequence.
type request struct {
	body   []byte
	packed *zip.Packed // set when messages are compressed; body is then compressed too
	expect []tensor.Tensor

	outputs []byte      // those in shared memory, which are not in body
	slot    *share.Slot // whose memory they go to; nil: that of all
}

// Prepare encodes one request.
func (s *Service) Prepare(in service.Inputs) (service.Request, error) {
	size := 1024
	for _, t := range in.Tensors {
		if size += len(t.Name) + 64; s.shared == nil {
			size += len(t.Data)
		}
	}
	if size > math.MaxInt32 {
		return nil, &service.Error{Op: kserve.OpInfer, Class: record.Protocol, Addr: s.target.URL, Err: service.RequestTooLarge.With(size, math.MaxInt32)}
	}
	b := make([]byte, 0, size)
	b = appendString(b, reqModel, s.target.Model)
	if s.target.Version != "" {
		b = appendString(b, reqVersion, s.target.Version)
	}
	b = appendBool(b, "triton_enable_empty_final_response", true)
	var err error
	for _, p := range s.target.Parameters {
		if b, err = appendParameter(b, p); err != nil {
			return nil, err
		}
	}
	r := &request{expect: in.Expect}
	if s.shared != nil {
		b, r.outputs, err = s.share(b, in)
	} else {
		b = appendTensors(b, in)
	}
	if err != nil {
		return nil, err
	}
	r.body = b
	s.largest.See(len(b))
	if name := s.at.Encoding(); name != "" {
		if r.packed, err = zip.Pack(name, b); err != nil {
			return nil, err
		}
		r.body = r.packed.Body
	}
	return r, nil
}

// appendTensors adds the inputs with their data, and the names of the outputs.
func appendTensors(b []byte, in service.Inputs) []byte {
	for _, t := range in.Tensors {
		b = appendMessage(b, reqInputs, input(t))
	}
	for _, name := range in.Outputs {
		b = appendMessage(b, reqOutputs, appendString(nil, tensorName, name))
	}
	for _, t := range in.Tensors {
		b = protowire.AppendTag(b, reqRaw, protowire.BytesType)
		b = protowire.AppendBytes(b, t.Data)
	}
	return b
}

// input is an InferInputTensor without data.
func input(t tensor.Tensor) []byte {
	m := appendString(nil, tensorName, t.Name)
	m = appendString(m, tensorDatatype, t.Type.String())
	var dims []byte
	for _, d := range t.Shape {
		dims = protowire.AppendVarint(dims, uint64(d))
	}
	if len(dims) > 0 {
		m = appendMessage(m, tensorShape, dims)
	}
	return m
}

func appendMessage(b []byte, num protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), m)
}

func appendString(b []byte, num protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
}

// appendParameter adds one of the user's request parameters.
func appendParameter(b []byte, p plan.Parameter) ([]byte, error) {
	switch p.Type {
	case "string":
		return appendText(b, p.Name, p.Value), nil
	case "int":
		n, err := strconv.ParseInt(p.Value, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("request parameter %s: %q is not a whole number", p.Name, p.Value)
		}
		return appendInt(b, p.Name, n), nil
	case "bool":
		v, err := strconv.ParseBool(p.Value)
		if err != nil {
			return nil, fmt.Errorf("request parameter %s: %q is neither true nor false", p.Name, p.Value)
		}
		return appendBool(b, p.Name, v), nil
	}
	return nil, fmt.Errorf("request parameter %s: unknown type %q, use string, int or bool", p.Name, p.Type)
}

// appendBool, appendInt and appendText add a parameter without any memory of their own: sequences use them in every
// request.
func appendBool(b []byte, name string, v bool) []byte {
	b = appendParamStart(b, name, 2)
	b = append(b, paramBool<<3)
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendInt(b []byte, name string, v int64) []byte {
	b = appendParamStart(b, name, 1+protowire.SizeVarint(uint64(v)))
	return protowire.AppendVarint(append(b, paramInt<<3), uint64(v))
}

func appendText(b []byte, name, v string) []byte {
	b = appendParamStart(b, name, 1+protowire.SizeBytes(len(v)))
	return protowire.AppendString(append(b, paramString<<3|byte(protowire.BytesType)), v)
}

// appendParamStart adds a map entry up to its value of n bytes.
func appendParamStart(b []byte, name string, n int) []byte {
	size := 1 + protowire.SizeBytes(len(name)) + 1 + protowire.SizeBytes(n)
	b = protowire.AppendVarint(append(b, reqParams<<3|byte(protowire.BytesType)), uint64(size))
	b = protowire.AppendString(append(b, mapKey<<3|byte(protowire.BytesType)), name)
	return protowire.AppendVarint(append(b, mapValue<<3|byte(protowire.BytesType)), uint64(n))
}

// appendVars adds what differs from send to send.
func appendVars(b []byte, v *service.Vars) []byte {
	if v.HasID {
		var digits [20]byte
		b = append(b, reqID<<3|byte(protowire.BytesType))
		b = protowire.AppendBytes(b, strconv.AppendUint(digits[:0], v.ID, 10))
	}
	if v.Present {
		if v.SeqName != "" {
			b = appendText(b, "sequence_id", v.SeqName)
		} else {
			b = appendInt(b, "sequence_id", int64(v.SeqID))
		}
		b = appendBool(b, "sequence_start", v.Start)
		b = appendBool(b, "sequence_end", v.End)
	}
	return b
}

// message makes the message of one send. Its tail lies in buf, which is returned for the next one; plain is
// scratch space for compressed messages.
func (r *request) message(v *service.Vars, buf, plain []byte) (m h2.Message, bufOut, plainOut []byte) {
	if r.packed == nil {
		buf = append(appendVars(buf[:0], v), r.outputs...)
		return h2.Message{Body: r.body, Tail: buf}, buf, plain
	}
	plain = append(appendVars(plain[:0], v), r.outputs...)
	buf = r.packed.Tail(buf[:0], plain)
	return h2.Message{Body: r.body, Tail: buf, Compressed: true}, buf, plain
}
