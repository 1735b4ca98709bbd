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
	switch {
	case len(c.GetBoolContents()) > 0:
		return packed(t, c.GetBoolContents(), tensor.Bool)
	case len(c.GetIntContents()) > 0:
		return packed(t, c.GetIntContents(), tensor.Int32, tensor.Int8, tensor.Int16)
	case len(c.GetInt64Contents()) > 0:
		return packed(t, c.GetInt64Contents(), tensor.Int64)
	case len(c.GetUintContents()) > 0:
		return packed(t, c.GetUintContents(), tensor.Uint32, tensor.Uint8, tensor.Uint16)
	case len(c.GetUint64Contents()) > 0:
		return packed(t, c.GetUint64Contents(), tensor.Uint64)
	case len(c.GetFp32Contents()) > 0:
		return packed(t, c.GetFp32Contents(), tensor.FP32)
	case len(c.GetFp64Contents()) > 0:
		return packed(t, c.GetFp64Contents(), tensor.FP64)
	case len(c.GetBytesContents()) > 0:
		if t.Type != tensor.Bytes {
			return packed[bool](t, nil, tensor.Bytes)
		}
		return tensor.PackBytes(c.GetBytesContents()), nil
	}
	return nil, nil
}

// packed is the raw form of elements that a tensor of one of the kinds may have.
func packed[T bool | int32 | int64 | uint32 | uint64 | float32 | float64](t *tensor.Tensor, elems []T, kinds ...tensor.Datatype) ([]byte, error) {
	if !slices.Contains(kinds, t.Type) {
		return nil, bad("input '%s' is %s, but its contents are %s", t.Name, t.Type, kinds[0])
	}
	return tensor.Pack(t.Type, elems), nil
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
