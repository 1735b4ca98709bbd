package dynamicgrpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/tensor/jsonscan"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/h2/zip"
)

// reflectionWait bounds how long the server may take to describe its method.
const reflectionWait = 20 * time.Second

// request is a prepared stream: all of its messages with their prefixes.
type request struct {
	body   []byte
	broken *GeneratorError // there are no messages: the call fails
	// differs is set where the input data expects an output. Opaque messages cannot be compared with it: the call fails.
	differs bool
}

// mismatch is the end of such a call.
var mismatch = &service.Error{Op: service.OpInfer, Class: record.Mismatch, Err: service.OutputSize.With()}

var errExpects = errors.New("validation_data: answers of dynamic_grpc have no form that could be compared: leave it out")

// Prepare makes the messages of one step.
func (s *Service) Prepare(in service.Inputs) (service.Request, error) {
	if in.Expect != nil && !s.target.OpaqueMessages {
		return nil, errExpects
	}
	var messages [][]byte
	for i := range in.Tensors {
		var more [][]byte
		var err error
		switch t := &in.Tensors[i]; t.Name {
		case Generator:
			var command []byte
			if command, _, err = tensor.NextElement(t.Data); err == nil {
				more, err = s.generate(string(command))
			}
		case Messages:
			more, err = s.fromJSON(t.Data)
		}
		if e, ok := errors.AsType[*GeneratorError](err); ok && e.Empty && s.target.LazyDial {
			return &request{broken: e}, nil // the first request reports it
		}
		if err != nil {
			return nil, err
		}
		messages = append(messages, more...)
	}
	if len(messages) == 0 {
		return nil, fmt.Errorf("step %d of the input data holds no message: give it %q with a command, or %q with JSON", in.Step, Generator, Messages)
	}
	if m := s.method; m != nil && !m.desc.IsStreamingClient() && len(messages) != 1 {
		return nil, fmt.Errorf("%s takes one message a call, but step %d of the input data holds %d", s.target.GRPCMethod, in.Step, len(messages))
	}
	r, err := s.frame(messages)
	if err != nil {
		return nil, err
	}
	r.differs = in.Expect != nil
	return r, nil
}

// generate runs a generator and notes what it writes to stderr. The messages that came before a failure count where the plan
// takes messages as they are.
func (s *Service) generate(command string) ([][]byte, error) {
	messages, said, err := generate(command, stall)
	if err != nil && (!s.target.OpaqueMessages || len(messages) == 0) {
		return nil, err
	}
	if said != "" {
		s.said = append(s.said, said)
	}
	if err != nil {
		s.said = append(s.said, "WARNING: "+err.Error())
	}
	return messages, nil
}

// Remarks are what the message generators of the prepared requests wrote to their stderr, and how they failed.
func (s *Service) Remarks() []string { return s.said }

// frame puts messages behind each other, compressed where that is asked for.
func (s *Service) frame(messages [][]byte) (*request, error) {
	size := 0
	for _, m := range messages {
		size += len(m) + 5
	}
	r := &request{body: make([]byte, 0, size)}
	for _, m := range messages {
		if s.at.Encoding() == "" {
			r.body = h2.AppendMessage(r.body, m, false)
			continue
		}
		p, err := zip.Pack(s.at.Encoding(), m)
		if err != nil {
			return nil, err
		}
		r.body = h2.AppendMessage(r.body, p.Tail(append([]byte(nil), p.Body...), nil), true)
	}
	return r, nil
}

// fromJSON encodes one message, or the elements of an array as one message each.
func (s *Service) fromJSON(text []byte) ([][]byte, error) {
	if s.method == nil {
		ctx, cancel := context.WithTimeout(context.Background(), reflectionWait)
		defer cancel()
		var err error
		if s.method, err = reflect(ctx, s.at, s.target.GRPCMethod); err != nil {
			return nil, err
		}
	}
	value := jsonscan.Value(text)
	if value.Kind() != jsonscan.Array {
		m, err := s.encode(text)
		return [][]byte{m}, err
	}
	var out [][]byte
	for e := range value.Elements() {
		m, err := s.encode(e)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", len(out), err)
		}
		out = append(out, m)
	}
	return out, nil
}

func (s *Service) encode(text []byte) ([]byte, error) {
	m := dynamicpb.NewMessage(s.method.desc.Input())
	if err := (protojson.UnmarshalOptions{Resolver: s.method.types}).Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%.80s is not a %s: %w", text, s.method.desc.Input().FullName(), err)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}
