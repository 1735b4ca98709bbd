package kserve

import (
	"encoding/json"
	"strconv"
	"strings"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/tensor"
)

type (
	input  = pb.ModelInferRequest_InferInputTensor
	output = pb.ModelInferRequest_InferRequestedOutputTensor
)

// inferJSON is the JSON of an inference request.
type inferJSON struct {
	ID         string
	Parameters params
	Inputs     *[]inputJSON
	Outputs    []struct {
		Name       *string
		Parameters params
	}
}

type inputJSON struct {
	Name, Datatype *string
	Shape          *[]uint64
	Parameters     params
	Data           json.RawMessage
}

// params are parameters that are not read yet.
type params map[string]json.RawMessage

// messages turns parameters into those of gRPC.
func (p params) messages() (map[string]*pb.InferParameter, error) {
	if len(p) == 0 {
		return nil, nil
	}
	out := make(map[string]*pb.InferParameter, len(p))
	for name, text := range p {
		var err error
		if out[name], err = paramOf(name, text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func paramOf(name string, text json.RawMessage) (*pb.InferParameter, error) {
	out := &pb.InferParameter{}
	switch text[0] {
	case '"':
		var s string
		err := decode(text, &s)
		out.ParameterChoice = &pb.InferParameter_StringParam{StringParam: s}
		return out, err
	case 't', 'f':
		out.ParameterChoice = &pb.InferParameter_BoolParam{BoolParam: text[0] == 't'}
	case 'n', '[', '{':
		return nil, bad("parameter '%s' must be a number, true, false or a text", name)
	default:
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			out.ParameterChoice = &pb.InferParameter_Int64Param{Int64Param: n}
		} else if n, err := strconv.ParseUint(string(text), 10, 64); err == nil {
			out.ParameterChoice = &pb.InferParameter_Uint64Param{Uint64Param: n}
		} else {
			f, _ := strconv.ParseFloat(string(text), 64) // a number; one that is too large is infinite
			out.ParameterChoice = &pb.InferParameter_DoubleParam{DoubleParam: f}
		}
	}
	return out, nil
}

// message turns the body of an inference request into the message that it would be over gRPC.
func (x *exchange) message(m *model.Model, body []byte) (*pb.ModelInferRequest, error) {
	size, err := x.headSize(len(body))
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, bad("the body has no JSON before its data")
	}
	var doc inferJSON
	if err := decode(body[:size], &doc); err != nil {
		return nil, err
	}
	if doc.Inputs == nil {
		return nil, wrongKind("inputs", "an array")
	}
	in := &pb.ModelInferRequest{ModelName: m.Name(), Id: doc.ID}
	if in.Parameters, err = doc.Parameters.messages(); err != nil {
		return nil, err
	}
	rest := body[size:]
	for _, i := range *doc.Inputs {
		if rest, err = i.add(in, rest); err != nil {
			return nil, err
		}
	}
	if len(rest) > 0 {
		return nil, bad("%d bytes follow the last input", len(rest))
	}
	for _, o := range doc.Outputs {
		if o.Name == nil {
			return nil, wrongKind("name", "a text")
		}
		list, err := o.Parameters.messages()
		if err != nil {
			return nil, err
		}
		in.Outputs = append(in.Outputs, &output{Name: *o.Name, Parameters: list})
	}
	return in, nil
}

// headSize is the length of the JSON at the front of the body.
func (x *exchange) headSize(body int) (int, error) {
	text := strings.TrimSpace(x.Request.Header.Get(headLength))
	if text == "" {
		return body, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > body {
		return 0, bad("%s must be a number from 0 to %d, not %q", headLength, body, text)
	}
	return n, nil
}

// add adds the input to the message, and returns the binary data that are left.
func (i *inputJSON) add(in *pb.ModelInferRequest, binary []byte) (rest []byte, err error) {
	size, region := i.Parameters["binary_data_size"], i.Parameters["shared_memory_region"]
	sources := 0
	for _, source := range []json.RawMessage{i.Data, size, region} {
		if source != nil {
			sources++
		}
	}
	if sources != 1 {
		return nil, bad("an input must have one of 'data', and of the parameters 'binary_data_size' and 'shared_memory_region'; it has %d", sources)
	}
	if i.Name == nil || i.Datatype == nil || i.Shape == nil {
		return nil, infer.Errorf(infer.Malformed, "an input must have a name, a datatype and a shape")
	}
	msg := &input{Name: *i.Name, Datatype: *i.Datatype, Shape: make([]int64, len(*i.Shape))}
	for k, d := range *i.Shape {
		msg.Shape[k] = int64(d)
	}
	kind, ok := tensor.ParseDatatype(msg.GetDatatype())
	if !ok {
		return nil, bad("input '%s' has the unknown datatype '%s'", msg.GetName(), msg.GetDatatype())
	}
	in.Inputs = append(in.Inputs, msg)
	switch {
	case region != nil:
		msg.Parameters, err = i.Parameters.messages()
		return binary, err
	case size != nil:
		var n uint64
		if err := decode(size, &n); err != nil {
			return nil, err
		}
		if n > uint64(len(binary)) {
			return nil, bad("input '%s' should have %d bytes of binary data, but the body has only %d more", msg.GetName(), n, len(binary))
		}
		in.RawInputContents = append(in.RawInputContents, binary[:n:n])
		return binary[n:], nil
	}
	data, err := raw(tensor.Tensor{Name: msg.GetName(), Type: kind, Shape: msg.GetShape()}, i.Data)
	in.RawInputContents = append(in.RawInputContents, data)
	return binary, err
}
