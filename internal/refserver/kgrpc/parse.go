package kgrpc

import (
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/tensor"
)

func bad(format string, args ...any) error { return infer.Errorf(infer.InvalidArg, format, args...) }

// options are the parameters for the stream, not for the model.
type options struct {
	emptyFinal bool
}

// parse turns a message into a request.
func (s *Service) parse(in *kserve.ModelInferRequest) (*infer.Request, options, error) {
	req := &infer.Request{Model: in.GetModelName(), Version: in.GetModelVersion(), ID: in.GetId()}
	var opts options
	for name, p := range in.GetParameters() {
		if err := parameter(req, &opts, name, p); err != nil {
			return nil, opts, err
		}
	}
	if err := s.inputs(req, in); err != nil {
		return nil, opts, err
	}
	for _, o := range in.GetOutputs() {
		out, err := s.output(o)
		if err != nil {
			return nil, opts, err
		}
		req.Outputs = append(req.Outputs, out)
	}
	return req, opts, nil
}

func wrongKind(name, kinds string) error {
	return bad("invalid value type for '%s' parameter, expected %s.", name, kinds)
}

func parameter(req *infer.Request, opts *options, name string, p *kserve.InferParameter) error {
	switch name {
	case "sequence_id":
		switch v := p.GetParameterChoice().(type) {
		case *kserve.InferParameter_Int64Param:
			req.Sequence.ID = uint64(v.Int64Param)
		case *kserve.InferParameter_StringParam:
			req.Sequence.Name = v.StringParam
		default:
			return wrongKind(name, "int64_param or string_param")
		}
	case "sequence_start":
		return boolean(name, p, &req.Sequence.Start)
	case "sequence_end":
		return boolean(name, p, &req.Sequence.End)
	case "priority":
		switch v := p.GetParameterChoice().(type) {
		case *kserve.InferParameter_Int64Param:
			if v.Int64Param < 0 {
				return bad("invalid value for 'priority', expected value >= 0.")
			}
			req.Priority = uint64(v.Int64Param)
		case *kserve.InferParameter_Uint64Param:
			req.Priority = v.Uint64Param
		default:
			return wrongKind(name, "int64_param or uint64_param")
		}
	case "timeout":
		v, ok := p.GetParameterChoice().(*kserve.InferParameter_Int64Param)
		if !ok {
			return wrongKind(name, "int64_param")
		}
		req.Timeout = time.Duration(v.Int64Param) * time.Microsecond
	case "triton_enable_empty_final_response":
		return boolean(name, p, &opts.emptyFinal)
	default:
		return free(req, name, p)
	}
	return nil
}

func boolean(name string, p *kserve.InferParameter, to *bool) error {
	v, ok := p.GetParameterChoice().(*kserve.InferParameter_BoolParam)
	if !ok {
		return wrongKind(name, "bool_param")
	}
	*to = v.BoolParam
	return nil
}

// free keeps a parameter that only the model understands.
func free(req *infer.Request, name string, p *kserve.InferParameter) error {
	if strings.HasPrefix(name, "triton_") {
		return bad("parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response")
	}
	var value any
	switch v := p.GetParameterChoice().(type) {
	case *kserve.InferParameter_Int64Param:
		value = v.Int64Param
	case *kserve.InferParameter_BoolParam:
		value = v.BoolParam
	case *kserve.InferParameter_StringParam:
		value = v.StringParam
	case *kserve.InferParameter_DoubleParam:
		value = v.DoubleParam
	default:
		return wrongKind(name, "int64_param, bool_param, or string_param")
	}
	if req.Params == nil {
		req.Params = map[string]any{}
	}
	req.Params[name] = value
	return nil
}

// inputs finds the data of each input: in shared memory, in the message's raw contents, or in typed contents. Like Triton it
// ignores raw contents that belong to no input.
func (s *Service) inputs(req *infer.Request, in *kserve.ModelInferRequest) error {
	raw := in.GetRawInputContents()
	for _, p := range in.GetInputs() {
		kind, ok := tensor.ParseDatatype(p.GetDatatype())
		if !ok || kind == tensor.JSON {
			kind = tensor.Invalid // the model's check refuses it
		}
		if req.Input(p.GetName()) != nil {
			return bad("%sinput '%s' already exists in request", req.Label(), p.GetName())
		}
		t := tensor.Tensor{Name: p.GetName(), Type: kind, Shape: p.GetShape()}
		region, offset, size, err := sharedPart(t.Name, p.GetParameters())
		if err != nil {
			return err
		}
		switch {
		case region != "":
			if p.GetContents() != nil {
				return bad("unexpected 'content' provided when using shared memory for input tensor '%s' for model '%s'", t.Name, req.Model)
			}
			t.Data, err = s.core.Shared.Read(region, offset, size)
		case p.GetContents() != nil && len(in.GetRawInputContents()) > 0:
			err = bad("contents field must not be specified when using raw_input_contents for '%s' for model '%s'", t.Name, req.Model)
		case p.GetContents() != nil:
			t.Data, err = typed(req.Model, &t, p.GetContents())
		case len(raw) > 0:
			t.Data, raw = raw[0], raw[1:]
		default:
			err = bad("unable to find data for input tensor '%s' for model '%s' in request.", t.Name, req.Model)
		}
		if err != nil {
			return err
		}
		req.Inputs = append(req.Inputs, t)
	}
	return nil
}

// typed turns typed contents into raw data.
func typed(model string, t *tensor.Tensor, c *kserve.InferTensorContents) ([]byte, error) {
	switch {
	case len(c.GetBoolContents()) > 0:
		return packed(model, t, c.GetBoolContents(), tensor.Bool)
	case len(c.GetIntContents()) > 0:
		return packed(model, t, c.GetIntContents(), tensor.Int32, tensor.Int8, tensor.Int16)
	case len(c.GetInt64Contents()) > 0:
		return packed(model, t, c.GetInt64Contents(), tensor.Int64)
	case len(c.GetUintContents()) > 0:
		return packed(model, t, c.GetUintContents(), tensor.Uint32, tensor.Uint8, tensor.Uint16)
	case len(c.GetUint64Contents()) > 0:
		return packed(model, t, c.GetUint64Contents(), tensor.Uint64)
	case len(c.GetFp32Contents()) > 0:
		return packed(model, t, c.GetFp32Contents(), tensor.FP32)
	case len(c.GetFp64Contents()) > 0:
		return packed(model, t, c.GetFp64Contents(), tensor.FP64)
	case len(c.GetBytesContents()) > 0:
		return tensor.PackBytes(c.GetBytesContents()), fitting(model, t, tensor.Bytes)
	}
	return nil, nil
}

// packed is the raw form of elements that a tensor of one of the kinds may have.
func packed[T bool | int32 | int64 | uint32 | uint64 | float32 | float64](model string, t *tensor.Tensor, elems []T, kinds ...tensor.Datatype) ([]byte, error) {
	if err := fitting(model, t, kinds...); err != nil {
		return nil, err
	}
	return tensor.Pack(t.Type, elems), nil
}

// fitting checks that the contents are of the input's type; the first kind is the one named in the error.
func fitting(model string, t *tensor.Tensor, kinds ...tensor.Datatype) error {
	if slices.Contains(kinds, t.Type) {
		return nil
	}
	return bad("unexpected explicit tensor data for input tensor '%s' for model '%s' of type '%s', expected datatype '%s'", t.Name, model, kinds[0], t.Type)
}

func (s *Service) output(o *kserve.ModelInferRequest_InferRequestedOutputTensor) (infer.Output, error) {
	out := infer.Output{Name: o.GetName()}
	var err error
	if out.Region, out.Offset, out.Size, err = sharedPart(out.Name, o.GetParameters()); err != nil {
		return out, err
	}
	if p := o.GetParameters()["classification"]; p != nil {
		v, ok := p.GetParameterChoice().(*kserve.InferParameter_Int64Param)
		if !ok {
			return out, bad("invalid value type for 'classification' parameter, expected int64_param")
		}
		if out.Region != "" {
			return out, bad("output can't set both 'shared_memory_region' and 'classification'")
		}
		out.Classes = int(max(0, v.Int64Param))
	}
	if out.Region != "" {
		err = s.core.Shared.Check(out.Region, out.Offset, out.Size)
	}
	return out, err
}

// sharedPart reads the parameters that name a piece of shared memory.
func sharedPart(tensor string, params map[string]*kserve.InferParameter) (region string, offset, size uint64, err error) {
	p := params["shared_memory_region"]
	if p == nil {
		return "", 0, 0, nil
	}
	name, ok := p.GetParameterChoice().(*kserve.InferParameter_StringParam)
	if !ok {
		return "", 0, 0, wrongKind("shared_memory_region", "string_param")
	}
	if params["shared_memory_byte_size"] == nil {
		return "", 0, 0, bad("'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor '%s'", tensor)
	}
	for key, to := range map[string]*uint64{"shared_memory_offset": &offset, "shared_memory_byte_size": &size} {
		if p := params[key]; p != nil {
			v, ok := p.GetParameterChoice().(*kserve.InferParameter_Int64Param)
			if !ok {
				return "", 0, 0, wrongKind(key, "int64_param")
			}
			*to = uint64(v.Int64Param)
		}
	}
	return name.StringParam, offset, size, nil
}
