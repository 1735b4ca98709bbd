// Package simple is `redline simple`: it sends requests one after another to a simple model, like the simple client of
// Triton's QA.
package simple

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/simple"
	"github.com/redline-bench/redline/internal/term"
	"github.com/redline-bench/redline/internal/workload"
)

// Run is `redline simple`.
func Run(p *command.IO, args []string) (int, error) {
	o := simple.Defaults()
	if err := o.Parse(args, p.Secrets); err != nil {
		return command.ExitUsage, command.Usage(err)
	}
	return start(p, o)
}

// Repeat carries out a written plan again, changed by the options of args. line is the whole command line that this makes.
func Repeat(p *command.IO, written *plan.Plan, args, line []string) (int, error) {
	o, err := simple.Again(written)
	if err != nil {
		return command.ExitUsage, err
	}
	whole := simple.Defaults()
	if err := errors.Join(o.Parse(args, p.Secrets), whole.Parse(line, p.Secrets)); err != nil {
		return command.ExitUsage, command.Usage(err)
	}
	o.Arguments = whole.Arguments
	return start(p, o)
}

// start carries out a run and returns the exit code.
func start(p *command.IO, o *simple.Options) (code int, err error) {
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	s := &run{IO: p.ForRun(o.Draft.Outcome, sigs), given: o.Arguments, sigs: sigs}
	defer s.close()
	if s.plan, err = o.Plan(); err != nil {
		fmt.Fprintln(s.Stderr, cleantext.Line(err.Error()))
		return command.ExitFailed, nil
	}
	switch err := s.start(); {
	case errors.As(err, new(command.UsageError)):
		return command.ExitUsage, err
	case err != nil:
		return s.failed(err), nil
	}
	return s.measure(), nil
}

// Command describes the command.
func Command() option.Command {
	o := simple.Defaults()
	return option.Command{Exits: command.CheckExits(), Common: []string{
		"model-name", "url", "protocol", "batch-size", "shape", "iteration_count", "warmup_count", "concurrency", "csv", "embedded", "report",
	}, Rows: o.Rows(), Intro: `Usage: redline simple -m MODEL [options]

Sends requests one after another to a model with one input and one output of variable last dimension, and prints
throughput, average latency and percentiles, like the simple client of Triton's own QA. docs/simple.md has more.
`, Examples: `  redline simple -m custom_identity_fp32 -s 16 --embedded
      try it out: no server needed
  redline simple -m my_model --shape 100000 -i grpc -u gpu-host:8001 --csv out.csv
`}
}

// run is one run of the command.
type run struct {
	*command.IO
	plan     simple.Plan
	given    []string // the options without secrets
	sigs     *command.Signals
	embedded *command.Embedded
	tap      *simple.Tap
	outcome  *outcome.Outcome
	model    *service.Model
	requests *workload.Requests
}

func (s *run) close() {
	s.outcome.Close()
	if s.tap != nil {
		_ = s.tap.Close() // nothing is left to report it to
	}
	s.embedded.Stop()
}

// start does everything up to the first request.
func (s *run) start() error {
	var err error
	if s.outcome, err = outcome.Open(s.IO, s.plan.Outcome, "simple", option.CommandLine("redline simple", s.given)); err != nil {
		return err
	}
	s.plan.Plan = s.plan.With(func(p *plan.Plan) { p.Target.Tracing = s.outcome.Tracing("") })
	if err := s.Files.Writable(s.plan.Output.CSV, s.plan.Output.ResultJSON); err != nil {
		return err
	}
	if s.plan.Target.Embedded {
		if s.embedded, err = command.StartEmbedded(s.sigs.Soft, s.IO, nil); err != nil {
			return err
		}
		s.plan.Plan = s.plan.With(func(p *plan.Plan) { p.Target.URL = s.embedded.Address(p.Target.Protocol) })
	}
	svc, err := kind.Open(s.plan.Plan)
	if err != nil {
		return fmt.Errorf("client creation failed: %w", err)
	}
	s.tap = &simple.Tap{Service: svc}
	if s.plan.Target.Model == "" {
		return command.Usage(inspect.Missing(s.sigs.Soft, svc, s.plan.Target))
	}
	m, err := s.tap.Describe(s.sigs.Soft)
	if err != nil {
		return err
	}
	if s.model, err = workload.Complete(s.plan.Input, m); err != nil {
		return err
	}
	if err := simple.Check(s.model, s.plan); err != nil {
		return err
	}
	return s.prepare()
}

// prepare encodes the requests.
func (s *run) prepare() error {
	s.plan.Plan = s.plan.For(s.model.Inputs[0].Name)
	data, err := workload.Load(s.plan.Input, s.plain())
	if err != nil {
		return err
	}
	if s.requests, err = workload.Prepare(s.sigs.Soft, s.tap, data); err != nil {
		return err
	}
	t := s.requests.Inputs(0)[0]
	s.note("model %s: input %s of type %s, request shape %s, %d bytes; %d in flight, %d warm-up and %d measured requests",
		s.model.Name, t.Name, t.Type, t.Shape, len(t.Data), s.plan.Load.Concurrency.Start, s.plan.Measure.WarmupCount, s.plan.Measure.RequestCount)
	return nil
}

// plain returns the model without its scheduler: this command sends no sequences.
func (s *run) plain() *service.Model {
	m := *s.model
	m.Scheduler = service.NoScheduler
	return &m
}

func (s *run) note(format string, args ...any) {
	if s.plan.Verbose > 0 {
		fmt.Fprintf(s.Stderr, format+"\n", args...)
	}
}

func (s *run) measure() int {
	runner := &profile.Runner{
		Plan: s.plan.Plan, Service: s.tap, Model: s.plain(), Observer: &watcher{s},
		Source:   func(slot, active int) engine.Source { return s.requests.Cursor(slot, active, false) },
		Timeline: true, More: fmt.Sprintf("send at least %d requests (-c)", measure.FewestRequests),
	}
	s.outcome.Begin(s.plan.Plan)
	if err := s.outcome.Connect(s.sigs.Soft, s.sigs.Hard, outcome.Server{Model: s.plan.Target.Model, Own: target.MetricsPages(&s.plan.Target, s.embedded)}); err != nil {
		return s.failed(err)
	}
	runner.Tap = s.outcome.Tap(false)
	s.sigs.Enter(command.Loading)
	res, err := runner.Run(s.sigs.Soft, s.sigs.Hard)
	s.sigs.Enter(command.Writing)
	s.Line.Clear()
	res.Tool, res.Version, res.Options = "redline", s.Version, s.given
	own, _ := json.Marshal(s.plan) // plain data
	res.Plan = s.plan.With(func(p *plan.Plan) { p.Own = own })
	s.outcome.Sign(res, workload.FingerprintData(s.requests.Len(), s.requests.Inputs, s.plan.Target.Kind, s.plan.Target.Model, s.plan.Target.Version, s.plan.Input.Batch))
	code := command.ExitOK
	if err != nil {
		code = s.failed(err)
	}
	if f, ok := simple.Measure(s.tap, s.plan.Plan); ok && (err == nil || code == command.ExitInterrupted) {
		fmt.Fprint(s.Stdout, f.Text())
		s.note("slowest request: %.3f ms", f.Slowest)
		if s.plan.Output.CSV != "" {
			if ferr := s.Files.WriteFile(s.plan.Output.CSV, []byte(f.CSV())); ferr != nil {
				code = s.failed(ferr)
			}
		}
	}
	if ferr := report.WriteFile(s.Files, s.plan.Output.ResultJSON, res); ferr != nil {
		code = s.failed(ferr)
	}
	if err == nil && !s.plan.Outcome.Quiet {
		report.Verdict(s.Stderr, res, s.ErrStyle())
	}
	return s.outcome.Finish(res, code)
}

// failed says in one line what went wrong and returns the exit code.
func (s *run) failed(err error) int {
	if s.sigs.Soft.Err() != nil {
		return command.ExitInterrupted
	}
	var load *profile.LoadError
	if errors.As(err, &load) && load.Stall == nil && len(load.Workers) > 0 {
		err = load.Workers[0].Err
	}
	text, early := simple.Explain(err, s.plan.Target.Protocol)
	if early {
		fmt.Fprintln(s.Stdout, text)
	} else {
		fmt.Fprintln(s.Stderr, text)
	}
	if e, ok := errors.AsType[*service.Error](err); ok && s.tap != nil {
		if there := target.There(s.sigs.Soft, s.tap.Service, &s.plan.Target, e); there != "" {
			fmt.Fprintf(s.Stderr, "redline simple: %s\n", there)
		}
	}
	return command.ExitFailed
}

// watcher shows the progress line; the report comes at the end.
type watcher struct{ *run }

func (w *watcher) LevelBegins(*result.Level, bool) {}
func (w *watcher) Pass(int, *result.Window)        {}
func (w *watcher) RanksStable()                    {}
func (w *watcher) LevelEnds(lv *result.Level) {
	w.outcome.LevelEnds(w.sigs.Hard, lv)
	if w.plan.Verbose > 0 {
		report.Health(w.Stderr, lv, w.ErrStyle())
	}
}

func (w *watcher) Warn(warning profile.Warning) { w.note("warning: %s", warning.Text) }

func (w *watcher) Progress(p profile.Progress) {
	w.Line.Show(term.Status{Requests: p.Requests, Wanted: uint64(w.plan.Measure.RequestCount), Rate: p.Rate, Median: p.Median, Failed: p.Failed})
	w.outcome.InFlight(p.Level, p.InFlight)
	w.outcome.Progress(p.Live)
}
