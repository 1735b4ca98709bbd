package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/llm"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/openai"
)

// readiness is how long, and how, a run waits for its model.
type readiness struct {
	timeout, every time.Duration
	mode           string // models, inference or both
}

// until tries until it works, or the time is over; the error is then that of the last try. Without a time it tries once.
func (w *readiness) until(ctx context.Context, try func(context.Context) error) error {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, max(w.timeout, time.Nanosecond))
	defer cancel()
	for n := 1; ; n++ {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(max(w.every, 10*time.Millisecond)):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the model was not ready after %s and %d tries: %s", time.Since(begun).Round(100*time.Millisecond), n, cleantext.Line(err.Error()))
		}
	}
}

// describe asks a server for its model, again and again where the user wants to wait for it.
func (r *llmRun) describe(svc service.Service) (*service.Model, error) {
	if r.opts.wait.timeout == 0 {
		return svc.Describe(r.sigs.soft)
	}
	var m *service.Model
	err := r.opts.wait.until(r.sigs.soft, func(ctx context.Context) error {
		var err error
		m, err = svc.Describe(ctx)
		return err
	})
	return m, err
}

// wait waits until the model is ready at every address.
func (r *llmRun) wait(list []service.Service) error {
	w := &r.opts.wait
	if w.timeout == 0 {
		return nil
	}
	for _, svc := range list {
		// Over gRPC the model was asked for already.
		if at, ok := svc.(*openai.Service); ok && w.mode != "inference" {
			if err := w.until(r.sigs.soft, func(ctx context.Context) error { return r.listed(ctx, at) }); err != nil {
				return err
			}
		}
		if w.mode != "models" {
			if err := w.until(r.sigs.soft, func(ctx context.Context) error { return r.answers1(ctx, svc) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// listed tells whether a server lists the model. One that keeps no list is ready when it answers.
func (r *llmRun) listed(ctx context.Context, svc *openai.Service) error {
	models, err := svc.Models(ctx)
	if e, ok := errors.AsType[*service.Error](err); ok && e.Code == http.StatusNotFound {
		if status, _, err := svc.Ask(ctx, "/", nil); err == nil && status/100 == 2 {
			return nil
		}
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(models, func(m service.ListedModel) bool { return m.Name == r.opts.model }) {
		return fmt.Errorf("the server does not list %s", r.opts.model)
	}
	return nil
}

// answers1 asks for one token. A refusal that the load would meet as well counts as an answer.
func (r *llmRun) answers1(ctx context.Context, svc service.Service) error {
	turn := llm.Turn{Texts: []string{"Hi"}, MaxTokens: 1, Query: "Hi", Passages: []string{"Hi"}}
	in, err := r.ep.Inputs(&api.Request{Conversation: &llm.Conversation{Turns: []llm.Turn{turn}}, MaxTokens: 1})
	var req service.Request
	if err == nil {
		req, err = svc.Prepare(in)
	}
	known := err == nil // an endpoint that takes only bodies of a file cannot be asked without one
	end := make(probe, 1)
	tr, err := svc.Open(ctx, end)
	if err != nil {
		return err
	}
	defer tr.Close()
	if err := tr.Grow(ctx, 1); err != nil || !known {
		return err
	}
	c := &service.Call{Req: req}
	tr.Send(c)
	tr.Flush()
	select {
	case <-end:
	case <-ctx.Done():
		tr.Cut(0, record.Timeout)
		<-end
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

// probe is told of the end of one call.
type probe chan struct{}

// Response implements service.Sink.
func (p probe) Response(*service.Call, []byte, int64, bool) {}

// Done implements service.Sink.
func (p probe) Done(*service.Call) { p <- struct{}{} }

// cooling is the pause before a measurement: none before the first.
func (o *llmOptions) cooling(level, run int) time.Duration {
	switch {
	case run > 0:
		return o.runPause
	case level > 0:
		return o.pause
	}
	return 0
}

// readSystem reads the system prompt where it is in a file.
func (o *llmOptions) readSystem() error {
	if o.systemFile == "" {
		return nil
	}
	text, err := os.ReadFile(o.systemFile)
	if err != nil {
		return fmt.Errorf("--system-prompt-file: %w", err)
	}
	if o.data.System = strings.TrimSpace(string(text)); o.data.System == "" {
		return fmt.Errorf("--system-prompt-file: %s is empty", o.systemFile)
	}
	return nil
}
