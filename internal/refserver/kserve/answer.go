package kserve

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
)

// answer is the message of a response: outputs with their data in raw form, in shared memory, or as classes.
func (s *Server) answer(m *model.Model, r *infer.Request, resp *infer.Response) (*pb.ModelInferResponse, error) {
	out := &pb.ModelInferResponse{
		ModelName: m.Name(), ModelVersion: resp.Version, Id: r.ID,
		Outputs:           make([]*pb.ModelInferResponse_InferOutputTensor, 0, len(resp.Outputs)),
		RawOutputContents: make([][]byte, 0, len(resp.Outputs)),
	}
	for _, t := range resp.Outputs {
		want := r.Output(t.Name)
		out.Outputs = append(out.Outputs, &pb.ModelInferResponse_InferOutputTensor{Name: t.Name, Datatype: t.Type.String(), Shape: t.Shape})
		data := t.Data
		if want != nil && want.Region.Name != "" {
			if uint64(len(data)) > want.Region.Size {
				return nil, infer.Errorf(infer.Internal, "output '%s' has %d bytes, but its place in shared memory only %d", t.Name, len(data), want.Region.Size)
			}
			if err := s.shared.Write(want.Region, data); err != nil {
				return nil, err
			}
			data = nil
		}
		out.RawOutputContents = append(out.RawOutputContents, data)
	}
	return out, nil
}

// ModelInfer answers one request with one response.
func (s *Server) ModelInfer(ctx context.Context, in *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	received := time.Now()
	size := 0
	for _, raw := range in.GetRawInputContents() {
		size += len(raw)
	}
	defer s.tidy(size)
	spoil, err := s.Faults.RPC(ctx, in.GetModelName())
	if err != nil {
		return nil, err
	}
	m, err := s.single(in.GetModelName(), in.GetModelVersion())
	if err != nil {
		return nil, err
	}
	r, out, err := s.answerOnce(ctx, m, in, "GRPC_WAITREAD", received, received)
	if err != nil {
		return nil, err
	}
	r.Trace.Mark("GRPC_SEND_START", time.Now())
	spoil(out)
	r.Trace.Mark("GRPC_SEND_END", time.Now())
	r.Trace.End()
	s.Log.Add(received, reqlog.Entry{Model: m.Name(), ID: r.ID, Parent: reqlog.ParentOf(ctx)})
	return out, nil
}

// streamed is the message of a response in a stream; nil for an empty final response that the client did not request.
func (s *Server) streamed(q *streamed, resp *infer.Response) proto.Message {
	if resp.Empty() && !q.req.EmptyFinal {
		return nil
	}
	out := &pb.ModelStreamInferResponse{InferResponse: &pb.ModelInferResponse{Id: q.in.GetId()}}
	if q.req == nil { // the model never saw the request
		out.ErrorMessage = resp.Err.Error()
		return out
	}
	full, err := out.InferResponse, resp.Err
	if err == nil && !resp.Empty() {
		full, err = s.answer(q.model, q.req, resp)
	}
	if err != nil {
		out.ErrorMessage = err.Error()
	} else {
		out.InferResponse = full
	}
	out.InferResponse.ModelName, out.InferResponse.ModelVersion = q.model.Name(), resp.Version
	out.InferResponse.Parameters = map[string]*pb.InferParameter{"triton_final_response": {ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: resp.Final}}}
	return out
}
