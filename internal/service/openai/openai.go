// Package openai loads servers that take a JSON body over HTTP and answer with JSON or with a stream of events:
// the OpenAI API and what is like it.
//
// The kind knows nothing of prompts or tokens. A request is the payload of the input data, sent as it stands to
// whatever path --endpoint names; there is no model to ask the server for, so Describe makes one up: an input
// "payload", an output "response". Whether an answer is streamed is for the server to decide, by its content
// type. Each event of a stream is one response with a time of its own, the moment of the read that completed it;
// "data: [DONE]" ends the stream and is no answer.
//
// Over HTTP/1.1 each request in flight has a connection of its own; over HTTP/2 many share one. Answers mean the same
// over both: an exchange judges them.
//
// A failure never counts as an answer: an HTTP error, an error inside of a stream, a stream without events, one
// that breaks off, or a completion that never says that it is complete.
package openai

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/httppool"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/wire/h2"
)

var (
	_ service.Service = (*Service)(nil)
	_ service.Lister  = (*Service)(nil)
)

// The tensors of the model that stands for any endpoint.
const (
	Payload  = "payload"
	Response = "response"
)

// Service is one endpoint of one server.
type Service struct {
	target plan.Target
	at     *httppool.Server
	path   string
	closes bool // streams of this endpoint must say that they are complete

	mu      sync.Mutex
	headers map[int]*h2.Header // by the size of the body
}

// New checks the target and makes a service. It does not connect.
func New(t plan.Target) (*Service, error) {
	at, err := httppool.NewServer(t)
	if err != nil {
		return nil, err
	}
	path := "/" + t.Endpoint // as it stands, also where it starts with a slash
	if strings.ContainsAny(path, " \t\r\n#") {
		return nil, fmt.Errorf("--endpoint %q is not a path: write it as in v1/chat/completions, with %%20 for a space", t.Endpoint)
	}
	route, query, asks := strings.Cut(path, "?")
	route = undot(route)
	path = route
	if asks {
		path += "?" + query
	}
	return &Service{target: t, at: at, path: path, closes: strings.HasSuffix(strings.TrimRight(route, "/"), "/completions")}, nil
}

// undot resolves the segments . and .. of a path: --endpoint . is the root.
func undot(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	var kept []string
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		if s != "." && s != ".." {
			kept = append(kept, s)
			continue
		}
		if s == ".." && len(kept) > 0 {
			kept = kept[:len(kept)-1]
		}
		if i == len(segments)-1 {
			kept = append(kept, "") // what is left is a folder
		}
	}
	return "/" + strings.Join(kept, "/")
}

// Describe makes up the model; the server is not asked.
func (s *Service) Describe(context.Context) (*service.Model, error) {
	return &service.Model{
		Name: s.target.Model, Version: s.target.Version,
		Inputs:  []service.TensorSpec{{Name: Payload, Type: tensor.JSON, Shape: tensor.Shape{1}}},
		Outputs: []service.TensorSpec{{Name: Response, Type: tensor.JSON, Shape: tensor.Shape{1}}},
	}, nil
}

// Open makes a transport without slots.
func (s *Service) Open(ctx context.Context, sink service.Sink) (service.Transport, error) {
	if s.target.HTTPVersion == "2" || s.target.HTTPVersion == "" && s.at.Prefers2(ctx) {
		return s.openStreams(ctx, sink)
	}
	cfg := s.at.Config("")
	cfg.Arrival = true
	tr := httppool.New(cfg, sink, func() httppool.Exchange {
		return s.newExchange(sink)
	})
	tr.Trace(s.target.Tracing)
	tr.DialLazily(s.target.LazyDial)
	return tr, nil
}

// Outputs gives the text of a response: a body, or an event as it came.
func (s *Service) Outputs(payload []byte) ([]tensor.Tensor, error) {
	return []tensor.Tensor{{Name: Response, Type: tensor.JSON, Shape: tensor.Shape{1}, Data: payload}}, nil
}

// Close has nothing to do.
func (s *Service) Close() error { return nil }
