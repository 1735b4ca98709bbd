// Package traffic is what a plan sends, and the server that it is sent to: its steps, in order, prepare a load.
package traffic

import (
	"errors"
	"fmt"
	"os"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/workload"
)

// Traffic is what a plan sends, and the server that it is sent to.
type Traffic struct {
	*command.IO
	Plan     *plan.Plan
	Sigs     *command.Signals
	Service  service.Service
	Model    *service.Model
	Async    bool
	Data     *workload.Data
	Requests *workload.Requests
	Sessions *workload.Sessions // in place of Requests, with --session-concurrency
	Console  *text.Console
	embedded *command.Embedded
}

// Close ends the connections, and the embedded server.
func (s *Traffic) Close() {
	s.Disconnect()
	s.embedded.Stop()
}

// Disconnect closes the service, and with it its shared memory.
func (s *Traffic) Disconnect() {
	if s.Service != nil {
		s.reportUnregister(s.Service.Close())
		s.Service = nil
	}
}

// maxRate is a rate that no client on one machine can send, in requests a second. Preparing for it would take for ever.
const maxRate = 1e9

// CheckLimits tells before the load starts that it cannot be made.
func (s *Traffic) CheckLimits() error {
	load := &s.Plan.Load
	if load.Mode == plan.RequestRate {
		if rate := max(load.Rate.Start, load.Rate.End); rate > maxRate {
			return fmt.Errorf("--request-rate-range: %g requests a second cannot be sent; use at most %g", rate, float64(maxRate))
		}
	}
	if load.Mode != plan.Concurrency {
		return nil
	}
	return target.CheckConnections(&s.Plan.Target, s.Plan.Segment.Share(max(load.Concurrency.Start, load.Concurrency.End)))
}

// StartServer starts the embedded server where the plan has one.
func (s *Traffic) StartServer() error {
	if !s.Plan.Target.Embedded {
		return nil
	}
	e, err := command.StartEmbedded(s.Sigs.Soft, s.IO, s.Plan.Target.EmbeddedArgs)
	if err != nil {
		return err
	}
	s.embedded = e
	s.Plan = s.Plan.With(func(p *plan.Plan) { p.Target.URL = e.Address(p.Target.Protocol) })
	return nil
}

// MetricsPages are the pages on which the server reports its own metrics.
func (s *Traffic) MetricsPages() []string { return target.MetricsPages(&s.Plan.Target, s.embedded) }

// Describe opens the service and asks it for the model.
func (s *Traffic) Describe() error {
	svc, err := kind.Open(s.Plan)
	if err != nil {
		return err
	}
	s.Service = svc
	if t := &s.Plan.Target; t.Model == "" && !kind.Of(t.Kind).NoModelName {
		return inspect.Missing(s.Sigs.Soft, svc, *t)
	}
	m, err := svc.Describe(s.Sigs.Soft)
	if err != nil {
		return err
	}
	s.Model, err = workload.Complete(s.Plan.Input, m)
	return err
}

// Load reads the input data and prepares the requests.
func (s *Traffic) Load() error {
	s.Console = &text.Console{Out: s.Stdout, Err: s.Stderr, Plan: s.Plan, Model: s.Model, Async: s.Async}
	data, err := workload.LoadFor(s.Plan.Input, s.Model, s.Plan.Load.Mode, s.Plan.Measure.WarmupCount)
	if err != nil {
		return err
	}
	s.Data = data
	if s.Plan.Load.Mode == plan.SessionConcurrency {
		return s.loadSessions()
	}
	s.Requests, err = workload.Prepare(s.Sigs.Soft, s.Service, data)
	if r, ok := s.Service.(service.Remarker); ok {
		for _, line := range r.Remarks() {
			s.Warn(line)
		}
	}
	return err
}

// LoadUnchecked is Load without the expected responses: those of a stand-in server differ from them.
func (s *Traffic) LoadUnchecked() error {
	data, err := workload.LoadFor(s.Plan.Input, s.Model, s.Plan.Load.Mode, s.Plan.Measure.WarmupCount)
	if err != nil {
		return err
	}
	s.Data = data
	if s.Plan.Load.Mode == plan.SessionConcurrency {
		return s.loadSessions()
	}
	s.Requests, err = workload.Prepare(s.Sigs.Soft, unchecked{s.Service}, data)
	return err
}

// unchecked is a service whose answers are compared with nothing.
type unchecked struct{ service.Service }

func (u unchecked) Prepare(in service.Inputs) (service.Request, error) {
	in.Expect = nil
	return u.Service.Prepare(in)
}

// loadSessions checks the conversations; their requests are made as they go.
func (s *Traffic) loadSessions() error {
	messenger, ok := s.Service.(service.Messenger)
	if !ok {
		return fmt.Errorf("service kind %s has no conversations", s.Plan.Target.Kind) // the options were checked
	}
	var err error
	s.Sessions, err = s.Data.Sessions(messenger, s.Plan.Load.Sessions, s.Plan.Segment, s.Plan.Output.Export != "")
	return err
}

// DataRead reports the size of JSON input data.
func (s *Traffic) DataRead() {
	if s.Data.FromJSON {
		s.Console.DataRead(s.Data.Streams(), s.Data.Steps(0))
	}
}

// Source makes the source of each slot's requests.
func (s *Traffic) Source() func(slot, active int) engine.Source {
	if s.Sessions != nil {
		return func(int, int) engine.Source { return s.Sessions.Talk() }
	}
	sources := workload.NewSources(s.Requests, s.Model, s.Plan, s.Async || s.Plan.Target.Trace.File != "", engine.WorkerOf) // traces are matched by request ids
	return func(slot, active int) engine.Source { return sources.Source(slot, active) }
}

// Runner is what measures the traffic; the caller adds who watches it.
func (s *Traffic) Runner() *profile.Runner {
	row := kind.Of(s.Plan.Target.Kind)
	return &profile.Runner{
		Plan: s.Plan, Service: s.Service, Model: s.Model, Async: s.Async, Source: s.Source(), Times: s.Data.Times(),
		Streams: row.Streams, SharedStreams: row.SharedStreams,
	}
}

// Inputs tells an export what a request carried.
func (s *Traffic) Inputs() func(step uint32) []tensor.Tensor {
	if s.Sessions != nil {
		return s.Sessions.Inputs
	}
	if s.Plan.Input.SharedMemory != plan.NoSharedMemory {
		return WithoutData(s.Requests.Inputs)
	}
	return s.Requests.Inputs
}

// Fingerprint tells apart what is sent.
func (s *Traffic) Fingerprint() string {
	t, in := &s.Plan.Target, &s.Plan.Input
	parts := []any{t.Kind, t.Model, t.Version, t.Endpoint, t.Streaming, in.Batch, s.Plan.Load.Mode}
	if s.Sessions != nil { // what a turn carries depends on the answers before it
		for _, path := range in.Paths {
			content, _ := os.ReadFile(path) // it was read before the load
			parts = append(parts, string(content))
		}
		return workload.Fingerprint(append(parts, s.Sessions.Turns())...)
	}
	return workload.FingerprintData(s.Requests.Len(), s.Requests.Inputs, parts...)
}

// Warn prints a remark.
func (s *Traffic) Warn(line string) { fmt.Fprintln(s.Stderr, line) }

// Advise says in one line what went wrong, where, and what to do.
func (s *Traffic) Advise(err error) string {
	var se *service.Error
	var data *workload.DataError
	switch {
	case errors.As(err, &data) && data.Path != "":
		return "input data: " + data.Path + ": " + data.Error()
	case errors.As(err, &data):
		return "input data: " + data.Error()
	case errors.As(err, &se):
		return target.Explain(s.Sigs.Soft, s.Service, &s.Plan.Target, target.Options{Protocol: "-i", Embedded: !s.Plan.Policies.BareReport}, se)
	default:
		return err.Error()
	}
}
