// Package rpc is the KServe v2 protocol over gRPC, with Triton's extensions.
//
// A request is encoded once, as the bytes of a ModelInferRequest without what differs from send to send; the
// request id and the parameters of sequences follow as a short tail, for protobuf does not mind the order of
// fields. Answers are checked where they lie in the read buffer, by a walk over the wire format that decodes
// nothing. Metadata, configuration and statistics, which are asked for once in a while, go through the
// generated types.
package rpc

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/grpcpool"
	"github.com/redline-bench/redline/internal/service/http2pool"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// prefix stands before the name of each method.
const prefix = "/inference.GRPCInferenceService/"

// Service is one server and model, spoken to over gRPC. Use New.
type Service struct {
	target plan.Target
	input  plan.Input
	at     *grpcpool.Server
	infer  *h2.Header // of ModelInfer or ModelStreamInfer
	tracer kserve.Tracer
	shared *share.Pool // nil: tensors travel over the connection

	largest service.Largest

	mu    sync.Mutex // guards what follows
	model *service.Model
}

var (
	_ service.Service     = (*Service)(nil)
	_ service.StatsReader = (*Service)(nil)
	_ service.Stager      = (*Service)(nil)
	_ service.Remarker    = (*Service)(nil)
	_ service.Lister      = (*Service)(nil)
	_ service.Controller  = (*Service)(nil)
	_ kserve.Source       = (*Service)(nil)
)

// New makes the service of a target; it does not connect.
func New(t plan.Target, in plan.Input) (*Service, error) {
	s := &Service{target: t, input: in}
	s.shared = share.New(s, in)
	s.tracer = kserve.Tracer{Read: s.readTrace, Write: s.writeTrace}
	var err error
	if s.at, err = grpcpool.NewServer(t); err != nil {
		return nil, err
	}
	method := "ModelInfer"
	if t.Streaming {
		method = "ModelStreamInfer"
	}
	s.infer = s.at.Header(prefix + method)
	return s, nil
}

// call makes one call of the service outside of the load.
func (s *Service) call(ctx context.Context, op, method string, req, resp proto.Message) error {
	return s.at.Call(ctx, op, prefix+method, req, resp)
}

// Open makes a transport with no slots.
func (s *Service) Open(ctx context.Context, sink service.Sink) (service.Transport, error) {
	var t *http2pool.Transport
	var err error
	s.mu.Lock()
	outputs := s.largest.Outputs(s.model, s.input.Batch)
	s.mu.Unlock()
	s.at.Limit(s.target.ResponseLimit(outputs), outputs, budget.New(s.target.HeldLimit(outputs)))
	s.mu.Lock()
	unmarked := s.model != nil && s.model.Unconfigured
	if s.target.Streaming && (s.model == nil || s.model.Decoupled || unmarked) { // one that answers once costs less without
		s.at.NoteArrivals()
	}
	s.mu.Unlock()
	switch {
	case s.target.Streaming && unmarked:
		t, err = grpcpool.New(ctx, s.at, sink, s.infer, func() grpcpool.Exchange { return &plain{svc: s, sink: sink} })
	case s.target.Streaming:
		t, err = http2pool.New(ctx, s.at.Pool(), sink, s.senders(sink))
	default:
		t, err = grpcpool.NewUnary(ctx, s.at, sink, s.infer, func() grpcpool.Unary { return &unary{} })
	}
	if err != nil {
		return nil, err
	}
	return s.shared.Wrap(t, s.bind), nil
}

// senders makes the senders of a pool whose calls share streams: slots of one track get its stream.
func (s *Service) senders(sink service.Sink) func(*http2pool.Slot) http2pool.Sender {
	tracks := make(map[int]*track) // one call of Grow at a time touches it
	return func(slot *http2pool.Slot) http2pool.Sender {
		t := tracks[slot.Track()]
		if t == nil {
			t = &track{svc: s, sink: sink, calls: make(map[uint64]*bidi)}
			tracks[slot.Track()] = t
		}
		return &bidi{track: t, slot: slot}
	}
}

// Close takes back what was set up at the server, shared memory and trace settings, and ends the control connection.
func (s *Service) Close() error {
	err := errors.Join(s.shared.Close(), s.tracer.Restore())
	return errors.Join(err, s.at.Close())
}
