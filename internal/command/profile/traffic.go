package profile

import (
	"errors"
	"fmt"
	"os"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/pacompat/rules"
	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/workload"
)

// traffic is what a plan sends, and the server that it is sent to.
type traffic struct {
	*command.IO
	plan     *plan.Plan
	notes    flags.Notes
	sigs     *command.Signals
	embedded *command.Embedded
	svc      service.Service
	model    *service.Model
	async    bool
	data     *workload.Data
	requests *workload.Requests
	sessions *workload.Sessions // in place of requests, with --session-concurrency
	console  *text.Console
	noSteps  error // the load of perf_analyzer mode has nothing to send
}

func (s *traffic) close() {
	if s.svc != nil {
		s.unstage(s.svc.Close())
	}
	if s.embedded != nil {
		s.embedded.Stop()
	}
}

// maxRate is a rate that no client on one machine can send, in requests a second. Preparing for it would take for ever.
const maxRate = 1e9

// checkLimits tells before the load starts that it cannot be made.
func (s *traffic) checkLimits() error {
	load := &s.plan.Load
	if load.Mode == plan.RequestRate {
		if rate := max(load.Rate.Start, load.Rate.End); rate > maxRate {
			return fmt.Errorf("--request-rate-range: %g requests a second cannot be sent; use at most %g", rate, float64(maxRate))
		}
	}
	if load.Mode != plan.Concurrency {
		return nil
	}
	return target.CheckConnections(&s.plan.Target, max(load.Concurrency.Start, load.Concurrency.End))
}

func (s *traffic) startServer() error {
	if !s.plan.Target.Embedded {
		return nil
	}
	e, err := command.StartEmbedded(s.sigs.Soft, s.IO, s.notes.EmbeddedArgs)
	if err != nil {
		return err
	}
	s.embedded = e
	s.plan.Target.URL = e.Address(s.plan.Target.Protocol)
	return nil
}

func (s *traffic) describe() error {
	svc, err := target.Open(s.plan)
	if errors.As(err, new(*service.Error)) {
		return s.cannotStart(err)
	}
	if err != nil {
		return &rules.StartError{What: "failed to create client factory", Err: err}
	}
	s.svc = svc
	s.model, err = svc.Describe(s.sigs.Soft)
	if err != nil {
		return s.cannotStart(err)
	}
	return nil
}

// cannotStart names the step that a service failed in before the load.
func (s *traffic) cannotStart(err error) error {
	what, _ := text.StartText(err, s.plan.Target.Protocol)
	return &rules.StartError{What: what, Err: err}
}

// check applies the rules that need to know the model.
func (s *traffic) check() error {
	settled, err := rules.Check(s.plan, s.model, s.warn)
	s.async, s.noSteps = settled.Async, settled.NoSteps
	return err
}

func (s *traffic) load() error {
	s.console = &text.Console{Out: s.Stdout, Err: s.Stderr, Plan: s.plan, Model: s.model, Async: s.async}
	mode, unscheduled := s.plan.Load.Mode, false
	if mode == plan.FixedSchedule && s.plan.Target.Kind == plan.DynamicGRPC && s.plan.Face == plan.DropIn {
		mode, unscheduled = plan.RequestRate, true // the original knows no timestamps here
	}
	data, err := workload.LoadFor(s.plan.Input, s.model, mode, s.plan.Measure.WarmupCount)
	if data != nil && s.postponed(err) {
		s.data = data
		return nil
	}
	if err != nil {
		return &rules.StartError{What: "Failed to init manager inputs", Err: err, Blank: true}
	}
	s.data = data
	if err := rules.AfterData(s.plan, unscheduled); err != nil {
		if s.plan.Face == plan.DropIn {
			s.dataRead() // the original has read the data when it finds out
		}
		return &rules.StartError{What: "Unable to init infer data manager", Err: err, Blank: true}
	}
	if s.plan.Load.Mode == plan.SessionConcurrency {
		return s.loadSessions()
	}
	s.requests, err = workload.Prepare(s.sigs.Soft, s.svc, data, s.plan.Face)
	if g, ok := s.svc.(interface{ Said() []string }); ok {
		for _, words := range g.Said() {
			s.warn(words)
		}
	}
	if errors.As(err, new(*workload.BatchError)) && s.plan.Face == plan.DropIn {
		s.dataRead() // the original has read the data when it finds out
	}
	if err != nil && !s.postponed(err) {
		return &rules.StartError{What: "Unable to init infer data manager", Err: err, Blank: true}
	}
	return nil
}

// postponed tells whether err is for later: of data without steps, and of files that cannot be read, the original finds
// out when it wants to send.
func (s *traffic) postponed(err error) bool {
	_, unread := errors.AsType[*service.Error](err)
	unread = unread && s.plan.Target.Kind == plan.TorchServe
	if s.plan.Face != plan.DropIn || !errors.Is(err, workload.ErrNoSteps) && !unread {
		return false
	}
	s.noSteps = err
	return true
}

// loadSessions checks the conversations; their requests are made as they go.
func (s *traffic) loadSessions() error {
	speaker, ok := s.svc.(workload.Speaker)
	if !ok {
		return rules.PlainError("Session concurrency mode is only supported with OpenAI service kind.")
	}
	var err error
	s.sessions, err = s.data.Sessions(speaker, s.plan.Load.Sessions, s.plan.Output.Export != "")
	if err != nil {
		return rules.PlainError(err.Error())
	}
	return nil
}

// dataRead reports the size of JSON input data.
func (s *traffic) dataRead() {
	if s.data.FromJSON {
		s.console.DataRead(s.data.Streams(), s.data.Steps(0))
	}
}

// feed is the source of requests.
func (s *traffic) feed() func(slot, active int) engine.Feed {
	if s.sessions != nil {
		return func(int, int) engine.Feed { return s.sessions.Talk() }
	}
	sources := workload.NewSources(s.requests, s.model, s.plan, s.async, engine.ThreadOf)
	return func(slot, active int) engine.Feed { return sources.Source(slot, active) }
}

// inputs tells an export what a request carried.
func (s *traffic) inputs() func(step uint32) []tensor.Tensor {
	if s.sessions != nil {
		return s.sessions.Inputs
	}
	if s.plan.Input.SharedMemory != plan.NoSharedMemory {
		return withoutData(s.requests.Inputs)
	}
	return s.requests.Inputs
}

// workload is the fingerprint of what profile sends.
func (s *traffic) workload() string {
	t, in := &s.plan.Target, &s.plan.Input
	parts := []any{t.Kind, t.Model, t.Version, t.Endpoint, t.Streaming, in.Batch, s.plan.Load.Mode}
	if s.sessions != nil { // what a turn carries depends on the answers before it
		for _, path := range in.Paths {
			content, _ := os.ReadFile(path) // it was read before the load
			parts = append(parts, string(content))
		}
		return workload.Fingerprint(append(parts, s.sessions.Turns())...)
	}
	return workload.FingerprintData(s.requests.Len(), s.requests.Inputs, parts...)
}

func (s *traffic) warn(line string) { fmt.Fprintln(s.Stderr, line) }
