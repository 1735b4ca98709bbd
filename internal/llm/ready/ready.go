// Package ready waits until a language model is ready.
package ready

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/llm"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// Wait controls how long and how a run waits for its model.
type Wait struct {
	Timeout time.Duration `json:"timeout_ns,omitzero"` // 0 does not wait
	Every   time.Duration `json:"interval_ns"`         // between two tries
	Mode    string        `json:"mode"`                // models, inference or both
}

// Model is the model to wait for.
type Model struct {
	Name     string
	Services []service.Service // one for each address
	Endpoint api.Endpoint
}

// For waits until the model is ready at every address.
func (w *Wait) For(ctx context.Context, m *Model) error {
	if w.Timeout == 0 {
		return nil
	}
	for _, svc := range m.Services {
		// Over gRPC, Describe has already checked the model.
		if at, ok := svc.(lister); ok && w.Mode != "inference" {
			if err := w.until(ctx, func(ctx context.Context) error { return m.listed(ctx, at) }); err != nil {
				return err
			}
		}
		if w.Mode != "models" {
			if err := w.until(ctx, func(ctx context.Context) error { return m.answers(ctx, svc) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// Describe requests the model's description from a server, and repeats it until the timeout.
func (w *Wait) Describe(ctx context.Context, svc service.Service) (*service.Model, error) {
	if w.Timeout == 0 {
		return svc.Describe(ctx)
	}
	var m *service.Model
	err := w.until(ctx, func(ctx context.Context) error {
		var err error
		m, err = svc.Describe(ctx)
		return err
	})
	return m, err
}

// until calls try until it succeeds or the timeout has passed; the error is that of the last try. Without a timeout it tries once.
func (w *Wait) until(ctx context.Context, try func(context.Context) error) error {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, max(w.Timeout, time.Nanosecond))
	defer cancel()
	for n := 1; ; n++ {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(max(w.Every, 10*time.Millisecond)):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the model was not ready after %s and %d tries: %s", time.Since(begun).Round(100*time.Millisecond), n, cleantext.Line(err.Error()))
		}
	}
}

// lister is a service over HTTP that sends single requests to any path.
type lister interface {
	service.Lister
	Ask(ctx context.Context, path string, body []byte) (status int, answer []byte, err error)
}

// listed returns an error if a server does not list the model. A server without a list is ready when it responds.
func (m *Model) listed(ctx context.Context, svc lister) error {
	models, err := svc.Models(ctx)
	if e, ok := errors.AsType[*service.Error](err); ok && e.Code == http.StatusNotFound {
		if status, _, err := svc.Ask(ctx, "/", nil); err == nil && status/100 == 2 {
			return nil
		}
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(models, func(one service.ListedModel) bool { return one.Name == m.Name }) {
		return fmt.Errorf("the server does not list %s", m.Name)
	}
	return nil
}

// answers requests one token. A refusal that the load would get too counts as a response.
func (m *Model) answers(ctx context.Context, svc service.Service) error {
	turn := llm.Turn{Texts: []string{"Hi"}, MaxTokens: 1, Query: "Hi", Passages: []string{"Hi"}}
	in, err := m.Endpoint.Inputs(&api.Request{Conversation: &llm.Conversation{Turns: []llm.Turn{turn}}, MaxTokens: 1})
	var c *service.Call // nil: an endpoint that sends only bodies of a file has no request of its own
	if err == nil {
		if req, err := svc.Prepare(in); err == nil {
			c = &service.Call{Req: req}
		}
	}
	if _, err := service.Once(ctx, svc, c); err != nil || c == nil {
		return err
	}
	if c.Rec.Class == record.OK {
		return nil
	}
	if e, ok := errors.AsType[*service.Error](c.Err); ok && e.Class == record.Server && e.Code < http.StatusInternalServerError {
		return nil
	}
	if c.Err == nil {
		return errors.New(c.Rec.Class.String())
	}
	return c.Err
}
