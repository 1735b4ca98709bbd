// Package dynamicgrpc loads any gRPC method of any server: unary, client-, server- or bidirectionally streaming.
//
// A request is a stream. It carries the messages of one step of the input data, all of them, then ends on our
// side; it is over when the server has ended its side, with a status, which is checked. The messages come from a
// command that the step names under message_generator and that writes each with its length before it; nothing
// needs to be known of them then. Without plan.Target.OpaqueMessages a step may also hold them as JSON, under messages:
// they become protobuf by the descriptor of the method, from .proto files or the server's reflection service.
//
// Everything is encoded when the data is loaded. In the load a whole request is one piece of bytes.
package dynamicgrpc

import (
	"context"
	"encoding/base64"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/grpcpool"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/wire/h2"
)

var _ service.Service = (*Service)(nil)

// The tensors of the model that stands for any method.
const (
	Generator = "message_generator" // a shell command that writes messages
	Messages  = "messages"          // messages as JSON
	Response  = "response"
)

// Service is one method of one server. Use New.
type Service struct {
	target plan.Target
	at     *grpcpool.Server
	header *h2.Header
	method *method // nil until it is needed
	said   []string
}

// New checks the target and makes a service. It does not connect.
func New(t plan.Target) (*Service, error) {
	at, err := grpcpool.NewServer(t)
	if err != nil {
		return nil, err
	}
	return &Service{target: t, at: at, header: at.Header("/" + t.GRPCMethod)}, nil
}

// Describe makes up the model. The server is not asked, but .proto files that were given are read.
func (s *Service) Describe(ctx context.Context) (*service.Model, error) {
	name := s.target.Model
	if name == "" {
		name = s.target.GRPCMethod
	}
	m := &service.Model{
		Name: name, Version: s.target.Version,
		Inputs:  []service.TensorSpec{{Name: Generator, Type: tensor.Bytes, Shape: tensor.Shape{}, Optional: !s.target.OpaqueMessages}},
		Outputs: []service.TensorSpec{{Name: Response, Type: tensor.JSON, Shape: tensor.Shape{1}}},
	}
	if !s.target.OpaqueMessages {
		m.Inputs = append(m.Inputs, service.TensorSpec{Name: Messages, Type: tensor.JSON, Shape: tensor.Shape{-1}, Optional: true})
	}
	if len(s.target.Protos) > 0 {
		var err error
		if s.method, err = compile(ctx, s.target.Protos, s.target.GRPCMethod); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Open makes a transport without slots.
func (s *Service) Open(ctx context.Context, sink service.Sink) (service.Transport, error) {
	if s.method == nil || s.method.desc.IsStreamingServer() {
		s.at.NoteArrivals()
	}
	if s.target.LazyDial {
		s.at.DialLazily()
	}
	return grpcpool.New(ctx, s.at, sink, s.header, func() grpcpool.Exchange { return &exchange{svc: s, sink: sink} })
}

// Outputs shows a message of an answer: as JSON where the descriptor is known, else as base64.
func (s *Service) Outputs(payload []byte) ([]tensor.Tensor, error) {
	if s.method == nil {
		return response(base64.StdEncoding.AppendEncode(nil, payload)), nil
	}
	m := dynamicpb.NewMessage(s.method.desc.Output())
	if err := (proto.UnmarshalOptions{Resolver: s.method.types}).Unmarshal(payload, m); err != nil {
		return nil, err
	}
	text, err := protojson.MarshalOptions{Resolver: s.method.types}.Marshal(m)
	if err != nil {
		return nil, err
	}
	return response(text), nil
}

func response(text []byte) []tensor.Tensor {
	return []tensor.Tensor{{Name: Response, Type: tensor.JSON, Shape: tensor.Shape{1}, Data: text}}
}

// Close ends the connection of the reflection client, if any.
func (s *Service) Close() error { return s.at.Close() }
