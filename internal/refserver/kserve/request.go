package kserve

import (
	"context"
	"slices"
	"strings"
	"time"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/tensor"
)

// request turns a message into a request.
func (s *Server) request(ctx context.Context, in *pb.ModelInferRequest, received time.Time) (*infer.Request, error) {
	r := &infer.Request{Model: in.GetModelName(), ID: in.GetId(), Received: received, Context: ctx}
	for name, p := range in.GetParameters() {
		if err := parameter(r, name, p); err != nil {
			return nil, err
		}
	}
	if err := s.inputs(r, in); err != nil {
		return nil, err
	}
	for _, o := range in.GetOutputs() {
		out, err := s.output(r, o)
		if err != nil {
			return nil, err
		}
		r.Outputs = append(r.Outputs, out)
	}
	return r, nil
}

// parameter sets what a parameter of a request asks for. Parameters that only a model could understand are accepted.
func parameter(r *infer.Request, name string, p *pb.InferParameter) (err error) {
	switch name {
	case "sequence_id":
		if v, ok := p.GetParameterChoice().(*pb.InferParameter_StringParam); ok {
			r.Sequence.Name = v.StringParam
			return nil
		}
		r.Sequence.ID, err = number(name, p)
	case "sequence_start":
		r.Sequence.Start, err = truth(name, p)
	case "sequence_end":
		r.Sequence.End, err = truth(name, p)
	case "priority", "timeout":
		_, err = number(name, p) // they order queues of Triton's that models here do not have
	case "binary_data_output":
		r.Binary, err = truth(name, p)
	case "triton_enable_empty_final_response":
		r.EmptyFinal, err = truth(name, p)
	default:
		if strings.HasPrefix(name, "triton_") {
			return bad("parameter '%s' begins with 'triton_', which is reserved; use another name", name)
		}
		if p.GetParameterChoice() == nil {
			return bad("parameter '%s' must be a number, true, false or a text", name)
		}
	}
	return err
}

// wrongKind is the error for a value of the wrong kind.
func wrongKind(name, want string) error {
	return infer.Errorf(infer.Malformed, "'%s' must be %s", name, want)
}

func truth(name string, p *pb.InferParameter) (bool, error) {
	v, ok := p.GetParameterChoice().(*pb.InferParameter_BoolParam)
	if !ok {
		return false, wrongKind(name, "true or false")
	}
	return v.BoolParam, nil
}

func number(name string, p *pb.InferParameter) (uint64, error) {
	switch v := p.GetParameterChoice().(type) {
	case *pb.InferParameter_Int64Param:
		if v.Int64Param >= 0 {
			return uint64(v.Int64Param), nil
		}
	case *pb.InferParameter_Uint64Param:
		return v.Uint64Param, nil
	}
	return 0, wrongKind(name, "a whole number of at least 0")
}

// inputs finds the data of each input: in shared memory, in the message's raw contents, or in typed contents. Like Triton it
// ignores raw contents that belong to no input.
func (s *Server) inputs(r *infer.Request, in *pb.ModelInferRequest) error {
	raw := in.GetRawInputContents()
	for _, p := range in.GetInputs() {
		kind, ok := tensor.ParseDatatype(p.GetDatatype())
		if !ok || kind == tensor.JSON {
			kind = tensor.Invalid // the model's check refuses it
		}
		t := tensor.Tensor{Name: p.GetName(), Type: kind, Shape: p.GetShape()}
		if r.Input(t.Name) != nil {
			return bad("input '%s' already exists in request", t.Name)
		}
		region, err := place(p.GetParameters())
		switch {
		case err != nil:
		case p.GetContents() != nil && (region.Name != "" || len(in.GetRawInputContents()) > 0):
			err = bad("input '%s' has data in its contents and elsewhere; send it once", t.Name)
		case region.Name != "":
			t.Data, err = s.shared.Read(region)
		case p.GetContents() != nil:
			t.Data, err = typed(&t, p.GetContents())
		case len(raw) > 0:
			t.Data, raw = raw[0], raw[1:]
		default:
			err = bad("input '%s' has no data", t.Name)
		}
		if err != nil {
			return err
		}
		r.Inputs = append(r.Inputs, t)
	}
	return nil
}

// typed turns typed contents into raw data.
func typed(t *tensor.Tensor, c *pb.InferTensorContents) ([]byte, error) {
	for _, list := range []struct {
		size  int
		data  func() []byte
		kinds []tensor.Datatype
	}{
		{len(c.GetBoolContents()), func() []byte { return tensor.Pack(t.Type, c.GetBoolContents()) }, []tensor.Datatype{tensor.Bool}},
		{len(c.GetIntContents()), func() []byte { return tensor.Pack(t.Type, c.GetIntContents()) }, []tensor.Datatype{tensor.Int32, tensor.Int8, tensor.Int16}},
		{len(c.GetInt64Contents()), func() []byte { return tensor.Pack(t.Type, c.GetInt64Contents()) }, []tensor.Datatype{tensor.Int64}},
		{len(c.GetUintContents()), func() []byte { return tensor.Pack(t.Type, c.GetUintContents()) }, []tensor.Datatype{tensor.Uint32, tensor.Uint8, tensor.Uint16}},
		{len(c.GetUint64Contents()), func() []byte { return tensor.Pack(t.Type, c.GetUint64Contents()) }, []tensor.Datatype{tensor.Uint64}},
		{len(c.GetFp32Contents()), func() []byte { return tensor.Pack(t.Type, c.GetFp32Contents()) }, []tensor.Datatype{tensor.FP32}},
		{len(c.GetFp64Contents()), func() []byte { return tensor.Pack(t.Type, c.GetFp64Contents()) }, []tensor.Datatype{tensor.FP64}},
		{len(c.GetBytesContents()), func() []byte { return tensor.PackBytes(c.GetBytesContents()) }, []tensor.Datatype{tensor.Bytes}},
	} {
		if list.size > 0 && !slices.Contains(list.kinds, t.Type) {
			return nil, bad("input '%s' is %s, but its contents are %s", t.Name, t.Type, list.kinds[0])
		}
		if list.size > 0 {
			return list.data(), nil
		}
	}
	return nil, nil
}

// output reads how the client wants to receive an output.
func (s *Server) output(r *infer.Request, o *pb.ModelInferRequest_InferRequestedOutputTensor) (out infer.Output, err error) {
	out.Name, out.Binary = o.GetName(), r.Binary
	binary, region := o.GetParameters()["binary_data"], o.GetParameters()["shared_memory_region"]
	if binary != nil {
		if out.Binary, err = truth("binary_data", binary); err != nil {
			return out, err
		}
	}
	if region != nil && binary != nil && out.Binary {
		return out, bad("output '%s' in shared memory cannot be in the body too", out.Name)
	}
	if o.GetParameters()["classification"] != nil {
		return out, infer.Errorf(infer.Unsupported, "the reference server gives no classes of outputs")
	}
	if out.Region, err = place(o.GetParameters()); err == nil && region != nil {
		err = s.shared.Check(out.Region)
	}
	return out, err
}

// place reads the parameters that name a piece of shared memory.
func place(params map[string]*pb.InferParameter) (at infer.Place, err error) {
	p := params["shared_memory_region"]
	if p == nil {
		return at, nil
	}
	name, ok := p.GetParameterChoice().(*pb.InferParameter_StringParam)
	if !ok {
		return at, wrongKind("shared_memory_region", "a text")
	}
	at.Name = name.StringParam
	if at.Size, err = number("shared_memory_byte_size", params["shared_memory_byte_size"]); err != nil {
		return at, err
	}
	if p := params["shared_memory_offset"]; p != nil {
		at.Offset, err = number("shared_memory_offset", p)
	}
	return at, err
}
