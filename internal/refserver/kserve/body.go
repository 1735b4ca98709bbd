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

// params are parameters as gRPC has them.
type params map[string]*pb.InferParameter

// UnmarshalJSON reads the plain values that parameters are over HTTP.
func (p *params) UnmarshalJSON(text []byte) error {
	var list map[string]json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	*p = make(params, len(list))
	for name, value := range list {
		var err error
		if (*p)[name], err = paramOf(name, value); err != nil {
			return err
		}
	}
	return nil
}

func paramOf(name string, text json.RawMessage) (*pb.InferParameter, error) {
	switch text[0] {
	case '"':
		var s string
		err := json.Unmarshal(text, &s)
		return &pb.InferParameter{ParameterChoice: &pb.InferParameter_StringParam{StringParam: s}}, err
	case 't', 'f':
		return &pb.InferParameter{ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: text[0] == 't'}}, nil
	case 'n', '[', '{':
		return nil, bad("parameter '%s' must be a number, true, false or a text", name)
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return &pb.InferParameter{ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: n}}, nil
	}
	if n, err := strconv.ParseUint(string(text), 10, 64); err == nil {
		return &pb.InferParameter{ParameterChoice: &pb.InferParameter_Uint64Param{Uint64Param: n}}, nil
	}
	f, _ := strconv.ParseFloat(string(text), 64) // a number; one that is too large is infinite
	return &pb.InferParameter{ParameterChoice: &pb.InferParameter_DoubleParam{DoubleParam: f}}, nil
}

// message turns the body of an inference request into the message that it would be over gRPC.
func (x *exchange) message(m *model.Model, body []byte) (*pb.ModelInferRequest, error) {
	size := len(body)
	if text := x.Request.Header.Get(headLength); text != "" {
		var err error
		if size, err = strconv.Atoi(strings.TrimSpace(text)); err != nil || size < 1 || size > len(body) {
			return nil, bad("%s must be a number from 1 to %d, not %q", headLength, len(body), text)
		}
	}
	if size == 0 {
		return nil, bad("the request has no body")
	}
	var doc inferJSON
	if err := decode(body[:size], &doc); err != nil {
		return nil, err
	}
	if doc.Inputs == nil {
		return nil, wrongKind("inputs", "an array")
	}
	in := &pb.ModelInferRequest{ModelName: m.Name(), Id: doc.ID, Parameters: doc.Parameters}
	rest := body[size:]
	for _, i := range *doc.Inputs {
		var err error
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
		in.Outputs = append(in.Outputs, &output{Name: *o.Name, Parameters: o.Parameters})
	}
	return in, nil
}

// add adds the input to the message, and returns the binary data that are left.
func (i *inputJSON) add(in *pb.ModelInferRequest, binary []byte) (rest []byte, err error) {
	size, region := i.Parameters["binary_data_size"] != nil, i.Parameters["shared_memory_region"] != nil
	switch data := i.Data != nil; {
	case data && size, data && region, size && region, !data && !size && !region:
		return nil, bad("an input must have one of 'data', and of the parameters 'binary_data_size' and 'shared_memory_region'")
	case i.Name == nil || i.Datatype == nil || i.Shape == nil:
		return nil, infer.Errorf(infer.Malformed, "an input must have a name, a datatype and a shape")
	}
	msg := &input{Name: *i.Name, Datatype: *i.Datatype, Parameters: i.Parameters}
	for _, d := range *i.Shape {
		msg.Shape = append(msg.Shape, int64(d))
	}
	in.Inputs = append(in.Inputs, msg)
	kind, ok := tensor.ParseDatatype(msg.GetDatatype())
	switch {
	case !ok:
		return nil, bad("input '%s' has the unknown datatype '%s'", msg.GetName(), msg.GetDatatype())
	case region:
		return binary, nil
	case size:
		n, err := number("binary_data_size", i.Parameters["binary_data_size"])
		if err == nil && n > uint64(len(binary)) {
			err = bad("input '%s' should have %d bytes of binary data, but the body has only %d more", msg.GetName(), n, len(binary))
		}
		if err != nil {
			return nil, err
		}
		in.RawInputContents = append(in.RawInputContents, binary[:n:n])
		return binary[n:], nil
	}
	data, err := raw(tensor.Tensor{Name: msg.GetName(), Type: kind, Shape: msg.GetShape()}, i.Data)
	in.RawInputContents = append(in.RawInputContents, data)
	return binary, err
}
