package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/simple"
	"github.com/redline-bench/redline/internal/term"
	"github.com/redline-bench/redline/internal/workload"
)

// The exit codes of the two programs that stood model for simple and stress: Python's.
const (
	exitFailed = 1
	exitUsage  = 2
)

func simpleHelp() string {
	o := simple.Defaults()
	return `Usage: redline simple -m MODEL [options]

Sends one request after the other to a model with one input and one output whose last dimension is free, and prints
throughput, average and percentiles, as the simple client of Triton's own checks does. docs/simple.md has more.
` + simple.Set(&o).Help() + `
Examples
  redline simple -m custom_identity_fp32 -s 16 --embedded
      try it out: no server needed
  redline simple -m my_model --shape 100000 -i grpc -u gpu-host:8001 --csv out.csv
`
}

func simpleNames() []string {
	var o simple.Options
	return simple.Set(&o).Names()
}

// runSimple is `redline simple`.
func runSimple(p *IO, args []string) (int, error) {
	sigs := p.watchSignals(preparing)
	defer sigs.stop()
	o, err := simple.Parse(args, p.Secrets)
	if err != nil {
		return exitUsage, usageError{err}
	}
	p = p.dressed(o.Outcome).withProgress(plan.Redline)
	sigs.announce(interruptNotice(p, plan.Redline))
	s := &simpleRun{IO: p, opts: o, sigs: sigs}
	defer s.close()
	switch err := s.start(); {
	case errors.As(err, new(usageError)):
		return exitUsage, err
	case err != nil:
		return s.failed(err), nil
	}
	return s.run(), nil
}

// simpleRun is one run of the command.
type simpleRun struct {
	*IO
	opts     *simple.Options
	plan     *plan.Plan
	sigs     *signals
	embedded *embedded
	tap      *simple.Tap
	outcome  *outcome
	model    *service.Model
	requests *workload.Requests
}

func (s *simpleRun) close() {
	s.outcome.close()
	if s.tap != nil {
		_ = s.tap.Close() // nothing is left to report it to
	}
	if s.embedded != nil {
		s.embedded.stop()
	}
}

// start does everything up to the first request.
func (s *simpleRun) start() error {
	if err := s.opts.Valid(); err != nil {
		return err
	}
	pl, _, err := flags.Parse(plan.Redline, "redline simple", s.opts.ProfileArgs(), s.Secrets)
	if err != nil {
		return err
	}
	s.plan = pl
	pl.Measure.StopOnFailure = true
	if s.outcome, err = s.openOutcome(s.opts.Outcome, "simple"); err != nil {
		return err
	}
	for _, path := range []string{s.opts.CSV, s.opts.JSON} {
		if err := s.writable(path); err != nil {
			return err
		}
	}
	if s.opts.Embedded {
		if s.embedded, err = startEmbedded(s.sigs.soft, s.IO, nil); err != nil {
			return err
		}
		pl.Target.URL = s.embedded.address(pl.Target.Protocol)
	}
	svc, err := newService(pl)
	if err != nil {
		return fmt.Errorf("client creation failed: %w", err)
	}
	s.tap = &simple.Tap{Service: svc}
	if s.opts.Model == "" {
		return usageError{inspect.Missing(s.sigs.soft, svc)}
	}
	if s.model, err = s.tap.Describe(s.sigs.soft); err != nil {
		return err
	}
	if err := simple.Check(s.model, s.opts); err != nil {
		return err
	}
	return s.prepare()
}

// prepare makes the requests.
func (s *simpleRun) prepare() error {
	in := s.model.Inputs[0]
	if s.opts.Data == "" {
		s.plan.Input.Shapes = map[string][]int64{in.Name: {int64(s.opts.Shape)}}
	}
	data, err := workload.Load(s.plan.Input, s.plain())
	if err != nil {
		return err
	}
	if s.requests, err = workload.Prepare(s.sigs.soft, s.tap, data, plan.Redline); err != nil {
		return err
	}
	t := s.requests.Inputs(0)[0]
	s.note("model %s: input %s of type %s, request shape %s, %d bytes; %d in flight, %d warm-up and %d measured requests",
		s.model.Name, t.Name, t.Type, t.Shape, len(t.Data), s.opts.Concurrency, s.opts.Warmup, s.opts.Count)
	return nil
}

// plain is the model without its scheduler: this client knows no sequences.
func (s *simpleRun) plain() *service.Model {
	m := *s.model
	m.Scheduler = service.NoScheduler
	return &m
}

func (s *simpleRun) note(format string, args ...any) {
	if s.opts.Verbose {
		fmt.Fprintf(s.Stderr, format+"\n", args...)
	}
}

func (s *simpleRun) run() int {
	runner := &profile.Runner{
		Plan: s.plan, Service: s.tap, Model: s.plain(), Observer: &simpleWatcher{s},
		Feed:     func(slot, active int) engine.Feed { return s.requests.Cursor(slot, active, false) },
		Timeline: true, Tap: s.outcome.tap(),
	}
	s.outcome.live.begin("simple", s.plan)
	s.sigs.enter(loading)
	res, err := runner.Run(s.sigs.soft, s.sigs.hard)
	s.sigs.enter(writing)
	s.Line.Clear()
	res.Tool, res.Version = "redline", s.version()
	s.outcome.sign(res, fingerprintData(s.requests.Len(), s.requests.Inputs, s.plan.Target.Kind, s.plan.Target.Model, s.plan.Target.Version, s.plan.Input.Batch))
	code := exitOK
	if err != nil {
		code = s.failed(err)
	}
	if f, ok := simple.Measure(s.tap, s.opts); ok && (err == nil || code == exitInterrupted) {
		fmt.Fprint(s.Stdout, f.Text())
		s.note("slowest request: %.3f ms", f.Slowest)
		if s.opts.CSV != "" {
			if ferr := s.Files.WriteFile(s.opts.CSV, []byte(f.CSV())); ferr != nil {
				code = s.failed(ferr)
			}
		}
	}
	if ferr := s.writeResult(s.opts.JSON, res); ferr != nil {
		code = s.failed(ferr)
	}
	if err == nil {
		report.Verdict(s.Stderr, res, report.Style{})
	}
	return s.outcome.finish(res, code)
}

// failed says in one line what went wrong and returns the exit code.
func (s *simpleRun) failed(err error) int {
	if s.sigs.soft.Err() != nil {
		return exitInterrupted
	}
	var load *profile.LoadError
	if errors.As(err, &load) && load.Stall == nil && len(load.Slots) > 0 {
		err = load.Slots[0].Err
	}
	text, early := simple.Explain(err, s.opts.Protocol)
	if early {
		fmt.Fprintln(s.Stdout, text)
	} else {
		fmt.Fprintln(s.Stderr, text)
	}
	if e, ok := errors.AsType[*service.Error](err); ok && s.tap != nil {
		if there := modelsThere(s.sigs.soft, s.tap.Service, &s.plan.Target, e); there != "" {
			fmt.Fprintf(s.Stderr, "redline simple: %s\n", strings.TrimPrefix(there, "; "))
		}
	}
	return exitFailed
}

// simpleWatcher shows the progress line; the report comes at the end.
type simpleWatcher struct{ *simpleRun }

func (w *simpleWatcher) LevelBegins(*result.Level, bool) {}
func (w *simpleWatcher) Pass(int, *result.Window)        {}
func (w *simpleWatcher) RanksStable()                    {}
func (w *simpleWatcher) LevelEnds(lv *result.Level) {
	w.outcome.live.levelEnds(lv)
	if w.opts.Verbose {
		report.Health(w.Stderr, lv, report.Style{})
	}
}
func (w *simpleWatcher) Warn(warning profile.Warning) { w.note("warning: %s", warning.Text) }

func (w *simpleWatcher) Progress(p profile.Progress) {
	w.Line.Show(term.Status{Requests: p.Requests, Wanted: uint64(w.opts.Count), Rate: p.Rate, Median: p.Median, Failed: p.Failed})
	w.outcome.live.progress(p.Live)
}
