// Package train sends whole sequences over gRPC streams without waiting for answers in between.
//
// Everywhere else a call is one request. Here it is a train: its requests leave behind each other on the slot's own
// stream of ModelStreamInfer, in order, and the call is over when all are answered or one of them fails. That is how
// a sequence reaches a server's queues in earnest: a client that waits for each answer never has two requests of a
// sequence there. Each answer is reported as a response of the call, in the order of the requests.
//
// This is a tool of tests and not of measurements, so the streams are those of the gRPC library.
package train

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/plan"
	pb "github.com/redline-bench/redline/internal/proto/kserve"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
)

// Service is one server and model. All but the load goes through the usual gRPC service.
type Service struct {
	*rpc.Service
	target plan.Target
	ids    atomic.Uint64
}

var (
	_ service.Service     = (*Service)(nil)
	_ service.StatsReader = (*Service)(nil)
)

// New makes the service of a target; it does not connect.
func New(t plan.Target, in plan.Input) (*Service, error) {
	inner, err := rpc.New(t, in)
	if err != nil {
		return nil, err
	}
	return &Service{Service: inner, target: t}, nil
}

// request is a train that is ready to leave. Its messages carry their ids, so it can be sent once.
type request []*pb.ModelInferRequest

// Train couples requests. The result is for one call.
func (s *Service) Train(cars []service.Car) (service.Request, error) {
	r := make(request, len(cars))
	for i := range cars {
		c := &cars[i]
		m := s.message(c.Inputs)
		if c.Name != "" {
			m.Parameters["sequence_id"] = &pb.InferParameter{ParameterChoice: &pb.InferParameter_StringParam{StringParam: c.Name}}
		} else {
			m.Parameters["sequence_id"] = &pb.InferParameter{ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: int64(c.ID)}}
		}
		m.Parameters["sequence_start"] = boolean(c.Start)
		m.Parameters["sequence_end"] = boolean(c.End)
		r[i] = m
	}
	return r, nil
}

// Prepare makes a train of one request that belongs to no sequence.
func (s *Service) Prepare(in service.Inputs) (service.Request, error) {
	return request{s.message(in)}, nil
}

func (s *Service) message(in service.Inputs) *pb.ModelInferRequest {
	m := &pb.ModelInferRequest{
		ModelName: s.target.Model, ModelVersion: s.target.Version, Id: strconv.FormatUint(s.ids.Add(1), 10),
		Parameters: map[string]*pb.InferParameter{},
	}
	for _, t := range in.Tensors {
		m.Inputs = append(m.Inputs, &pb.ModelInferRequest_InferInputTensor{Name: t.Name, Datatype: t.Type.String(), Shape: t.Shape})
		m.RawInputContents = append(m.RawInputContents, t.Data)
	}
	for _, name := range in.Outputs {
		m.Outputs = append(m.Outputs, &pb.ModelInferRequest_InferRequestedOutputTensor{Name: name})
	}
	return m
}

func boolean(v bool) *pb.InferParameter {
	return &pb.InferParameter{ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: v}}
}

// Open makes a transport with no slots.
func (s *Service) Open(ctx context.Context, sink service.Sink) (service.Transport, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &transport{svc: s, sink: sink}
	t.ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	t.slots.Store(&[]*slot{})
	return t, nil
}

// encode is an answer in the form that Outputs reads.
func encode(m *pb.ModelInferResponse) ([]byte, error) {
	b, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return b, nil
}
