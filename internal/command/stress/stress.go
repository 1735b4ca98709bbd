// Package stress is `redline stress`: it sends valid and invalid sequences and checks every response.
package stress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/service/kserve/train"
	"github.com/redline-bench/redline/internal/stress"
	"github.com/redline-bench/redline/internal/term"
	"github.com/redline-bench/redline/internal/workload"
)

// Run is `redline stress`.
func Run(p *command.IO, args []string) (int, error) {
	if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
		return 0, option.ErrHelp
	}
	if len(args) == 0 || args[0] != "sequence" && args[0] != "chaos" {
		return command.ExitUsage, command.Usage(errors.New("name a test: 'sequence' or 'chaos', as in 'redline stress sequence MODEL'"))
	}
	chaos := args[0] == "chaos"
	pl, err := stress.Parse(args[1:], time.Now(), p.Secrets)
	if err == nil && chaos && (pl.Chaos == 0 || pl.Duration == 0) {
		err = errors.New("chaos needs --chaos TIME and --duration TIME")
	}
	if err != nil {
		return command.ExitUsage, command.Usage(err)
	}
	if chaos {
		return start(p, pl, (*run).chaos), nil
	}
	return start(p, pl, (*run).sequences), nil
}

// Repeat carries out a written plan again, changed by the options of args. line is the whole command line that this makes.
func Repeat(p *command.IO, written *plan.Plan, args, line []string) (int, error) {
	pl, err := stress.Again(written, args, p.Secrets)
	if err != nil {
		return command.ExitUsage, command.Usage(err)
	}
	whole, err := stress.Parse(line[1:], time.Now(), p.Secrets) // the first word is "sequence"
	if err != nil {
		return command.ExitUsage, command.Usage(err)
	}
	pl.Arguments = whole.Arguments
	return start(p, pl, (*run).sequences), nil
}

// start carries out a run and returns the exit code.
func start(p *command.IO, pl *stress.Plan, do func(*run) int) int {
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	s := &run{IO: p.ForRun(pl.Outcome, sigs), plan: *pl, sigs: sigs}
	defer s.close()
	return do(s)
}

// Command describes the command.
func Command() option.Command {
	return option.Command{Exits: command.CheckExits(), Common: []string{
		"url", "model-name", "protocol", "concurrency", "iterations", "duration", "random-seed", "max-failures", "overlap", "embedded", "verbose",
	}, Rows: stress.Defaults().Rows(), Words: []string{"sequence", "chaos"}, Intro: `Usage: redline stress sequence [MODEL] [options]
       redline stress chaos [MODEL] --chaos TIME --duration TIME [options]

Sends valid and invalid sequences to a model that keeps a running sum for each sequence, and checks every response,
like the sequence stress test of Triton's own QA. The exit code is 0 if every response was right, else 1, with the
history of each sequence that failed. 'chaos' only unloads and loads the model, while another command runs with
--disturbed. docs/stress.md explains the patterns.
`, Examples: `  redline stress sequence --embedded -i 50
      try it out: no server needed
  redline stress sequence custom_sequence_int32 -u gpu-host:8001 -r 7 --duration 10m
`}
}

// run is one run of the command.
type run struct {
	*command.IO
	plan     stress.Plan
	sigs     *command.Signals
	embedded *command.Embedded
	cutter   *stress.Cutter
	svc      service.Service
	direct   service.Service // past the proxy that cuts connections
	outcome  *outcome.Outcome
	mu       sync.Mutex // guards what is printed
}

func (s *run) close() {
	s.outcome.Close()
	for _, svc := range []service.Service{s.svc, s.direct} {
		if svc != nil {
			_ = svc.Close() // nothing is left to report it to
		}
	}
	if s.cutter != nil {
		_ = s.cutter.Close()
	}
	s.embedded.Stop()
}

func (s *run) sequences() int {
	fmt.Fprint(s.Stdout, stress.Header(&s.plan))
	model, idle, err := s.start()
	if err != nil {
		return s.failed(err)
	}
	s.outcome.Begin(s.plan.Plan)
	if err := s.outcome.Connect(s.sigs.Soft, s.sigs.Hard, outcome.Server{Model: s.plan.Target.Model, Own: target.MetricsPages(&s.plan.Target, s.embedded)}); err != nil {
		return s.failed(err)
	}
	start := time.Now()
	s.sigs.Enter(command.Loading)
	sum, err := stress.Run(s.sigs.Soft, s.sigs.Hard, stress.Config{
		Plan: &s.plan, Service: s.svc, Model: model, Train: s.couple(), Control: s.control(), Cutter: s.cutter, Observer: watcher{s},
		Tap: s.tap(), ServerIdle: idle,
	})
	s.sigs.Enter(command.Writing)
	s.Line.Clear()
	if sum == nil {
		return s.failed(err)
	}
	fmt.Fprint(s.Stdout, "\n"+sum.Text())
	err = errors.Join(err, s.writeJSON(sum))
	res := sum.Result()
	own, _ := json.Marshal(s.plan) // plain data
	res.Version, res.Model, res.Environment = s.Version, model, profile.Environment()
	res.Plan = s.plan.With(func(p *plan.Plan) { p.Own = own })
	res.StartUnixNs, res.EndUnixNs = start.UnixNano(), time.Now().UnixNano()
	res.Options = append([]string{"sequence"}, s.plan.Arguments...)
	s.outcome.Sign(res, s.workload())
	code := command.ExitOK
	switch {
	case err != nil:
		code = s.failed(err)
	case !sum.Passed():
		code = command.ExitFailed
	case sum.Interrupted:
		code = command.ExitInterrupted
	}
	return s.outcome.Finish(res, code)
}

// tap returns the function that receives every request's record, or nil if no output needs them.
func (s *run) tap() func(*record.Record) error {
	to := s.outcome.Tap(false)
	if to == nil {
		return nil
	}
	lv := &result.Level{Mode: plan.Concurrency, Concurrency: s.plan.Threads}
	return func(r *record.Record) error { return to(lv, 0, r) }
}

// workload returns a fingerprint of all that determines what is sent.
func (s *run) workload() string {
	p, t := &s.plan, &s.plan.Target
	return workload.Fingerprint(t.Model, t.Version, t.Protocol, p.Unary, p.Seed, p.Threads, p.Iterations, p.Duration, p.Common, p.Rare, p.RareShare, p.Weights, p.RareWeights,
		p.LengthMean, p.LengthDev, p.Values, p.FirstID, p.IDBlock, p.StringIDs, p.BackToBack, p.Overlap, p.IdleTime, p.CutEvery, p.Chaos, p.ChaosDown, p.Replay)
}

// start does everything up to the first request. idle is how long the server keeps an idle sequence.
func (s *run) start() (m *service.Model, idle time.Duration, err error) {
	if s.outcome, err = outcome.Open(s.IO, s.plan.Outcome, "stress", option.CommandLine("redline stress sequence", s.plan.Arguments)); err != nil {
		return nil, 0, err
	}
	if s.outcome.Tracing("") != nil {
		return nil, 0, errors.New("--trace-requests: redline stress does not trace requests; use redline profile")
	}
	if err := s.Files.Writable(s.plan.Output.ResultJSON); err != nil {
		return nil, 0, err
	}
	if err := s.connect(); err != nil {
		return nil, 0, err
	}
	svc, err := kind.Open(s.plan.Plan)
	if s.plan.Target.Streaming {
		svc, err = train.New(s.plan.Target, s.plan.Input)
	}
	if err != nil {
		return nil, 0, err
	}
	s.svc = svc
	m, err = svc.Describe(s.sigs.Soft)
	switch {
	case err != nil:
		return nil, 0, err
	case m.Unconfigured:
		return nil, 0, fmt.Errorf("the server has no configuration of model %s: sequences need Triton", m.Name)
	}
	cfg, err := s.direct.(kserve.Source).Config(s.sigs.Soft, s.plan.Target.Model, "")
	if err != nil {
		return nil, 0, err
	}
	if s.plan.StringIDs && cfg.NumberIDs {
		return nil, 0, fmt.Errorf("model %s takes correlation ids as numbers: --string-ids needs a CORRID of TYPE_STRING in its configuration", m.Name)
	}
	return m, cfg.SequenceIdle, nil
}

// connect puts addresses into the plan that are known only now: with --embedded it starts the server, and with --cut the proxy that
// cuts connections.
func (s *run) connect() (err error) {
	if s.plan.Target.Embedded {
		if s.embedded, err = command.StartEmbedded(s.sigs.Soft, s.IO, nil); err != nil {
			return err
		}
		s.plan.Server = stress.Address{Host: s.embedded.Address(s.plan.Target.Protocol)}
	}
	address := s.plan.Server
	at := func(a stress.Address) *plan.Plan {
		return s.plan.With(func(p *plan.Plan) { p.Target.URL = a.String() })
	}
	if s.direct, err = kind.Open(at(address)); err != nil {
		return err
	}
	if s.plan.CutEvery > 0 {
		if s.cutter, err = stress.NewCutter(s.sigs.Soft, address.Host); err != nil {
			return err
		}
		address.Host = s.cutter.Addr()
	}
	s.plan.Plan = at(address)
	return nil
}

// control loads and unloads the model under test.
type control struct {
	service.Controller
	model string
}

func (s *run) control() control { return control{s.direct.(service.Controller), s.plan.Target.Model} }

// Load implements stress.Control.
func (c control) Load(ctx context.Context) error {
	return refused("load", c.LoadModel(ctx, c.model, nil))
}

// Unload implements stress.Control.
func (c control) Unload(ctx context.Context) error {
	return refused("unload", c.UnloadModel(ctx, c.model))
}

func refused(what string, err error) error {
	if err == nil {
		return nil
	}
	return errors.New(what + " the model: " + err.Error() + " (does the server run with --model-control-mode=explicit?)")
}

// couple returns a function that sends several requests as one call, or nil if the protocol has no streams.
func (s *run) couple() func(cars []service.Car) (service.Request, error) {
	if svc, ok := s.svc.(*train.Service); ok {
		return svc.Train
	}
	return nil
}

func (s *run) writeJSON(sum *stress.Summary) error {
	if s.plan.Output.ResultJSON == "" {
		return nil
	}
	text, err := json.MarshalIndent(sum, "", "  ")
	if err != nil {
		return err
	}
	return s.Files.WriteFile(s.plan.Output.ResultJSON, append(text, '\n'))
}

// failed prints why the test could not run and returns the exit code.
func (s *run) failed(err error) int {
	if s.sigs.Soft.Err() != nil {
		return command.ExitInterrupted
	}
	if e, ok := errors.AsType[*service.Error](err); ok {
		err = errors.New(target.Explain(s.sigs.Soft, s.svc, &s.plan.Target, target.Options{Protocol: "--protocol", Embedded: true}, e))
	}
	fmt.Fprintf(s.Stderr, "redline stress: %v\n", err)
	return command.ExitFailed
}

// watcher prints the progress of a run.
type watcher struct{ run *run }

// Line prints a line of a verbose run.
func (w watcher) Line(text string) { w.run.write(text + "\n") }

// Failed prints the history of a failed sequence at once.
func (w watcher) Failed(f *stress.Failure) { w.run.write("\n" + f.Report()) }

func (s *run) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.Stdout, text) // a console that is gone must not end the run
}

// Progress redraws the progress line.
func (w watcher) Progress(p stress.Progress) {
	level := fmt.Sprintf("%d iterations", p.Passes)
	if p.Wanted > 0 {
		level = fmt.Sprintf("%d of %d iterations", p.Passes, p.Wanted)
	}
	w.run.Line.Show(term.Status{Level: level, Window: w.run.plan.Duration, Elapsed: p.Elapsed, Rate: p.Rate, Failed: uint64(p.Failures)})
	w.run.outcome.Progress(p.Live)
}

// chaos unloads and loads the model until the time is over.
func (s *run) chaos() int {
	if err := s.connect(); err != nil {
		return s.failed(err)
	}
	s.sigs.Enter(command.Loading)
	ctx, cancel := context.WithTimeout(s.sigs.Soft, s.plan.Duration)
	defer cancel()
	n, err := stress.Unload(ctx, s.control(), s.plan.Chaos, s.plan.ChaosDown)
	fmt.Fprintf(s.Stdout, "unloaded and loaded %s %d times\n", s.plan.Target.Model, n)
	if err != nil {
		return s.failed(err)
	}
	return command.ExitOK
}
