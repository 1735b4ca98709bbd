// Package rest speaks the KServe v2 protocol over HTTP/1.1, with Triton's extensions: binary tensors, model
// configuration, statistics and trace settings.
//
// A request is rendered once, by Prepare, into the bytes that go over the wire. What differs from send to send
// (the request id, sequence parameters) has reserved places, so sending is one copy of a small part and one
// system call. Requests, down to the order of headers and JSON members, are those of Triton's C++ client, so
// that a server sees the same traffic from Redline as from other clients.
//
// Connections and the goroutines that read them are httppool's; here is what goes over them.
package rest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/httppool"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/service/kserve/share"
	"github.com/redline-bench/redline/internal/wire/budget"
	"github.com/redline-bench/redline/internal/wire/h1"
)

var (
	_ service.Service     = (*Service)(nil)
	_ service.StatsReader = (*Service)(nil)
	_ service.Stager      = (*Service)(nil)
	_ service.Remarker    = (*Service)(nil)
	_ service.Lister      = (*Service)(nil)
	_ service.Controller  = (*Service)(nil)
	_ kserve.Source       = (*Service)(nil)
)

// headerLength is the header that tells the length of the JSON part of a body.
const headerLength = "Inference-Header-Content-Length"

// Service is one server at one address, and one model on it.
type Service struct {
	target plan.Target
	input  plan.Input
	at     *httppool.Server
	model  *service.Model // as described; nil before that
	tracer kserve.Tracer
	shared *share.Pool             // nil: tensors travel over the connection
	idle   atomic.Pointer[h1.Conn] // of the last call beside the load

	largest service.Largest
}

// New checks the target and makes a service. It does not connect.
func New(t plan.Target, in plan.Input) (*Service, error) {
	at, err := httppool.NewServer(t, headerLength)
	if err != nil {
		return nil, err
	}
	s := &Service{target: t, input: in, at: at}
	s.shared = share.New(s, in)
	s.tracer = kserve.Tracer{Read: s.readTrace, Write: s.writeTrace}
	return s, nil
}

// Describe asks the server for the model, after setting up its tracer where the plan says so.
func (s *Service) Describe(ctx context.Context) (*service.Model, error) {
	if err := s.tracer.Set(ctx, s.target.Trace); err != nil {
		return nil, err
	}
	m, err := kserve.Describe(ctx, s, s.target)
	if err != nil {
		return nil, err
	}
	s.model = m
	return m, nil
}

// Remarks implements service.Remarker.
func (s *Service) Remarks() []string {
	chosen := s.input.InputFormat == "" && s.asJSON("") || s.input.OutputFormat == "" && s.asJSON("")
	return kserve.Remarks(s.model, s.target.Extensions, chosen)
}

// Open makes a transport without slots.
func (s *Service) Open(_ context.Context, sink service.Sink) (service.Transport, error) {
	cfg := s.config()
	outputs := s.largest.Outputs(s.model, s.input.Batch)
	cfg.MaxBody, cfg.Budget = s.target.ResponseLimit(outputs), budget.New(s.target.HeldLimit(outputs))
	t := httppool.New(cfg, sink, func() httppool.Exchange {
		if s.target.Streaming {
			return newStreamed(sink, cfg.MaxBody, cfg.Budget)
		}
		return &exchange{sink: sink}
	})
	t.Trace(s.target.Tracing)
	return s.shared.Wrap(t, s.bind), nil
}

// Close takes back what was set up at the server: trace settings and shared memory.
func (s *Service) Close() error {
	defer func() {
		if conn := s.idle.Swap(nil); conn != nil {
			_ = conn.Close() // nothing is in flight on it
		}
	}()
	return errors.Join(s.shared.Close(), s.tracer.Restore())
}

// config is how to connect, and which header to look for in replies.
func (s *Service) config() h1.Config { return s.at.Config(strings.ToLower(headerLength)) }
