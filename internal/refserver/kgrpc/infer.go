package kgrpc

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/refserver/departure"
	"github.com/redline-bench/redline/internal/refserver/infer"
	"github.com/redline-bench/redline/internal/refserver/model"
	"github.com/redline-bench/redline/internal/refserver/reqlog"
	"github.com/redline-bench/redline/internal/refserver/trace"
	"github.com/redline-bench/redline/internal/tensor"
)

// ModelInfer answers one request with one response.
func (s *Service) ModelInfer(ctx context.Context, in *kserve.ModelInferRequest) (*kserve.ModelInferResponse, error) {
	received := time.Now()
	for _, raw := range in.GetRawInputContents() {
		defer s.core.Tidy(len(raw))
	}
	spoil, err := s.core.Faults.RPC(ctx, in.GetModelName())
	if err != nil {
		return nil, err
	}
	m, err := s.core.Models.Get(in.GetModelName(), in.GetModelVersion())
	if err != nil {
		return nil, failure(err)
	}
	if m.Decoupled() {
		return nil, status.Error(codes.Unimplemented, "ModelInfer RPC doesn't support models with decoupled transaction policy")
	}
	req, _, err := s.parse(in)
	if err != nil {
		return nil, failure(err)
	}
	req.Received, req.Context = received, ctx
	if req.Trace = s.sample(m.Name(), received); req.Trace != nil {
		defer req.Trace.End()
	}
	resp, err := m.Run(req)
	if err != nil {
		return nil, failure(err)
	}
	req.Trace.Mark("GRPC_SEND_START", time.Now())
	out, err := s.message(m, req, resp)
	if err == nil {
		spoil(out)
	}
	req.Trace.Mark("GRPC_SEND_END", time.Now())
	if s.core.Log.On() {
		s.core.Log.Add(reqlog.Entry{Model: m.Name(), ID: req.ID, Parent: reqlog.ParentOf(ctx), Received: received, Replied: time.Now()})
	}
	return out, failure(err)
}

// sample starts the trace of a request, if the settings select it.
func (s *Service) sample(model string, received time.Time) *trace.Trace {
	t := s.core.Trace.Sample(model)
	t.Mark("GRPC_WAITREAD_START", received)
	t.Mark("GRPC_WAITREAD_END", received)
	return t
}

// message writes a response: outputs with their data in raw form, in shared memory, or as classes.
func (s *Service) message(m *model.Model, req *infer.Request, resp *infer.Response) (*kserve.ModelInferResponse, error) {
	out := &kserve.ModelInferResponse{
		ModelName: m.Name(), ModelVersion: resp.Version, Id: req.ID, Parameters: params(resp.Params),
		Outputs:           make([]*kserve.ModelInferResponse_InferOutputTensor, 0, len(resp.Outputs)),
		RawOutputContents: make([][]byte, 0, len(resp.Outputs)),
	}
	for _, t := range resp.Outputs {
		want := req.Output(t.Name)
		if want != nil && want.Classes > 0 {
			var err error
			if t, err = m.Classify(t, want.Classes); err != nil {
				return nil, err
			}
		}
		o := &kserve.ModelInferResponse_InferOutputTensor{Name: t.Name, Datatype: t.Type.String(), Shape: t.Shape}
		data := t.Data
		if want != nil && want.Region != "" {
			if err := s.share(want, t); err != nil {
				return nil, err
			}
			data = nil
		}
		out.Outputs = append(out.Outputs, o)
		out.RawOutputContents = append(out.RawOutputContents, data)
	}
	return out, nil
}

// share writes an output to the client's shared memory.
func (s *Service) share(want *infer.Output, t tensor.Tensor) error {
	if uint64(len(t.Data)) > want.Size {
		return infer.Errorf(infer.Internal, "shared memory size specified with the request for output '%s' (%d bytes) should be at least %d bytes to hold the results",
			t.Name, want.Size, len(t.Data))
	}
	return s.core.Shared.Write(want.Region, want.Offset, t.Data)
}

func params(in map[string]any) map[string]*kserve.InferParameter {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]*kserve.InferParameter, len(in))
	for name, v := range in {
		p := &kserve.InferParameter{}
		switch v := v.(type) {
		case bool:
			p.ParameterChoice = &kserve.InferParameter_BoolParam{BoolParam: v}
		case int64:
			p.ParameterChoice = &kserve.InferParameter_Int64Param{Int64Param: v}
		case uint64:
			p.ParameterChoice = &kserve.InferParameter_Int64Param{Int64Param: int64(v)}
		case float64:
			p.ParameterChoice = &kserve.InferParameter_DoubleParam{DoubleParam: v}
		case string:
			p.ParameterChoice = &kserve.InferParameter_StringParam{StringParam: v}
		}
		out[name] = p
	}
	return out
}

type inferStream = grpc.BidiStreamingServer[kserve.ModelInferRequest, kserve.ModelStreamInferResponse]

// ModelStreamInfer serves requests as they arrive, each with as many responses as its model sends. Responses of models that
// send one response keep the order of the requests; decoupled models respond as soon as they can. An error ends its request,
// not the stream.
func (s *Service) ModelStreamInfer(stream inferStream) error {
	out := newOutbox()
	out.left = s.follow(stream)
	sent := make(chan error, 1)
	go func() { sent <- out.send(stream, s) }()
	for {
		in, err := stream.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				out.abort()
				<-sent
				return err
			}
			out.end()
			return <-sent
		}
		spoil, err := s.core.Faults.RPC(stream.Context(), in.GetModelName())
		if err != nil {
			out.abort()
			<-sent
			return err
		}
		s.streamOne(stream.Context(), in, out, spoil)
	}
}

func (s *Service) streamOne(ctx context.Context, in *kserve.ModelInferRequest, out *outbox, spoil func(proto.Message)) {
	received := time.Now()
	m, err := s.core.Models.Get(in.GetModelName(), in.GetModelVersion())
	var req *infer.Request
	var opts options
	if err == nil {
		req, opts, err = s.parse(in)
	}
	l := out.open(err != nil || !m.Decoupled())
	l.in, l.model, l.received, l.emptyFinal, l.spoil = in, m, received, opts.emptyFinal, spoil
	if err != nil {
		l.refuse(err)
		return
	}
	req.Received, req.Context, req.Reply = received, ctx, l.put
	req.Trace = s.sample(m.Name(), received)
	l.req = req
	if err := m.Infer(req); err != nil {
		l.refuse(err)
	}
}

// follow returns what records when messages of a stream were sent; nil if there is no log.
func (s *Service) follow(stream inferStream) *departure.Stream {
	from, ok := peer.FromContext(stream.Context())
	if !ok {
		return nil
	}
	left := s.core.Departures.Stream(from.Addr.String())
	if left == nil || stream.SetHeader(metadata.Pairs(departure.Header, left.Key)) != nil {
		return nil
	}
	return left
}

// streamMessage encodes a response; nil for an empty final response that the client did not request.
func (s *Service) streamMessage(l *queuedRequest, resp *infer.Response) *kserve.ModelStreamInferResponse {
	if resp.Empty && !l.emptyFinal {
		return nil
	}
	out := &kserve.ModelStreamInferResponse{}
	err := resp.Err
	if err == nil && !resp.Empty {
		out.InferResponse, err = s.message(l.model, l.req, resp)
	}
	if l.refused && err != nil {
		// The model never saw the request: Triton names only its id.
		return &kserve.ModelStreamInferResponse{ErrorMessage: err.Error(), InferResponse: &kserve.ModelInferResponse{Id: l.in.GetId()}}
	}
	if out.InferResponse == nil {
		out.InferResponse = &kserve.ModelInferResponse{Id: l.in.GetId(), ModelName: l.in.GetModelName(), ModelVersion: l.in.GetModelVersion()}
	}
	if err != nil {
		out.ErrorMessage = err.Error()
	}
	if out.InferResponse.Parameters == nil {
		out.InferResponse.Parameters = map[string]*kserve.InferParameter{}
	}
	out.InferResponse.Parameters["triton_final_response"] = &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: resp.Final}}
	return out
}
