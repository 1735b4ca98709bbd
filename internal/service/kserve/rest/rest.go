// Package rest speaks the KServe v2 protocol over HTTP/1.1, with Triton's extensions: binary tensors, model
// configuration, statistics and trace settings.
//
// A request is rendered once, by Prepare, into the bytes that go over the wire. What differs from send to send
// (the request id, sequence parameters) has reserved places, so sending is one copy of a small part and one
// system call. Requests, down to the order of headers and JSON members, are those of Triton's C++ client, so
// that a server sees the same traffic from Redline as from perf_analyzer.
//
// In the transport a slot is a connection, a goroutine and a lane. The goroutine reads, checks the reply,
// reports it, and usually finds itself sending the next request from within that report; so a closed loop hands
// nothing over between goroutines. See slot.go for the rules between it and other senders.
package rest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/wire/h1"
)

var (
	_ service.Service     = (*Service)(nil)
	_ service.StatsReader = (*Service)(nil)
	_ kserve.Source       = (*Service)(nil)
)

// headerLength is the header that tells the length of the JSON part of a body.
const headerLength = "Inference-Header-Content-Length"

// Service is one server at one address, and one model on it.
type Service struct {
	target plan.Target
	input  plan.Input
	at     endpoint
	model  *service.Model    // as described; nil before that
	undo   []kserve.Setting  // trace settings to put back
	names  map[string]string // user headers by lower-case name, to replace default ones
}

// New checks the target and makes a service. It does not connect.
func New(t plan.Target, in plan.Input) (*Service, error) {
	at, err := parseURL(t.URL)
	if err != nil {
		return nil, err
	}
	if at.secure {
		if at.tls, err = tlsConfig(t.TLS, at.host); err != nil {
			return nil, err
		}
	}
	s := &Service{target: t, input: in, at: at, names: map[string]string{}}
	for _, h := range t.Headers {
		if err := checkHeader(h); err != nil {
			return nil, err
		}
		s.names[strings.ToLower(h.Name)] = h.Value
	}
	return s, nil
}

// checkHeader refuses what would break the request, or contradict what is computed.
func checkHeader(h plan.Header) error {
	switch strings.ToLower(h.Name) {
	case "content-length", "transfer-encoding", "connection", strings.ToLower(headerLength):
		return fmt.Errorf("the header %s is set by the client itself: leave it out", h.Name)
	}
	if h.Name == "" || strings.ContainsAny(h.Name, " \t\r\n:") || strings.ContainsAny(h.Value, "\r\n\x00") {
		return fmt.Errorf("%q: %q is not a valid HTTP header", h.Name, h.Value)
	}
	return nil
}

// Describe asks the server for the model, after setting up its tracer where the plan says so.
func (s *Service) Describe(ctx context.Context) (*service.Model, error) {
	if err := s.setTrace(ctx); err != nil {
		return nil, err
	}
	m, err := kserve.Describe(ctx, s, s.target)
	if err != nil {
		return nil, err
	}
	s.model = m
	return m, nil
}

// Open makes a transport without slots.
func (s *Service) Open(_ context.Context, sink service.Sink) (service.Transport, error) {
	return newTransport(s.at.config(), sink), nil
}

// closeWait is how long Close waits for the server to take its trace settings back.
const closeWait = 5 * time.Second

// Close puts the server's trace settings back.
func (s *Service) Close() error {
	if s.undo == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	return s.restoreTrace(ctx)
}

// fail turns what the wire says into a service error.
func (s *Service) fail(op string, err error) *service.Error { return wireError(op, s.at.addr, err) }

func wireError(op, addr string, err error) *service.Error {
	return &service.Error{Op: op, Class: classOf(err), Addr: addr, Err: err}
}

func classOf(err error) record.Class {
	e, ok := errors.AsType[*h1.Error](err)
	if !ok {
		return record.Protocol
	}
	switch e.Kind {
	case h1.Unreachable, h1.Resolve, h1.Refused, h1.Handshake:
		return record.Connect
	case h1.NotHTTP, h1.Malformed, h1.TooLarge:
		return record.Protocol
	case h1.Reset, h1.Empty, h1.Truncated, h1.Broken, h1.Lost:
	}
	return record.Transport
}
