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
	"github.com/redline-bench/redline/internal/service/kserve/repository"
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
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	chaos := args[0] == "chaos"
	o, err := stress.Parse(args[1:], time.Now(), p.Secrets)
	if err == nil && chaos && (o.Chaos == 0 || o.Duration == 0) {
		err = errors.New("chaos needs --chaos TIME and --duration TIME")
	}
	if err != nil {
		return command.ExitUsage, command.Usage(err)
	}
	p = p.ForRun(o.Outcome, plan.Redline, sigs)
	s := &run{IO: p, opts: o, server: o.Server, sigs: sigs}
	defer s.close()
	if chaos {
		return s.chaos(), nil
	}
	return s.sequences(), nil
}

// Command describes the command.
func Command() option.Command {
	o := stress.Defaults()
	return option.Command{Exits: command.CheckExits(), Common: []string{
		"url", "model-name", "protocol", "concurrency", "iterations", "duration", "random-seed", "max-failures", "overlap", "embedded", "verbose",
	}, Rows: o.Rows(), Words: []string{"sequence", "chaos"}, Intro: `Usage: redline stress sequence [MODEL] [options]
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
	opts     *stress.Options
	server   stress.Address
	sigs     *command.Signals
	plan     *plan.Plan
	embedded *command.Embedded
	cutter   *stress.Cutter
	svc      service.Service
	outcome  *outcome.Outcome
	mu       sync.Mutex // guards what is printed
}

func (s *run) close() {
	s.outcome.Close()
	if s.svc != nil {
		_ = s.svc.Close() // nothing is left to report it to
	}
	if s.cutter != nil {
		_ = s.cutter.Close()
	}
	if s.embedded != nil {
		s.embedded.Stop()
	}
}

func (s *run) sequences() int {
	fmt.Fprint(s.Stdout, stress.Header(s.opts))
	model, err := s.start()
	if err != nil {
		return s.failed(err)
	}
	s.outcome.Begin(s.plan)
	if err := s.outcome.Connect(s.sigs.Soft, s.sigs.Hard, outcome.Server{Model: s.plan.Target.Model, Own: target.MetricsPages(&s.plan.Target, s.embedded)}); err != nil {
		return s.failed(err)
	}
	start := time.Now()
	s.sigs.Enter(command.Loading)
	sum, err := stress.Run(s.sigs.Soft, s.sigs.Hard, stress.Config{
		Options: s.opts, Service: s.svc, Model: model, Train: s.couple(), Control: s.repository(), Cutter: s.cutter, Observer: watcher{s},
		Tap: s.tap(),
	})
	s.sigs.Enter(command.Writing)
	s.Line.Clear()
	if sum == nil {
		return s.failed(err)
	}
	fmt.Fprint(s.Stdout, "\n"+sum.Text())
	err = errors.Join(err, s.writeJSON(sum))
	res := sum.Result()
	res.Version, res.Plan, res.Model, res.Environment = s.Version, s.plan, model, profile.Environment()
	res.StartUnixNs, res.EndUnixNs = start.UnixNano(), time.Now().UnixNano()
	res.Options = append([]string{"sequence"}, s.opts.Given...)
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
	lv := &result.Level{Mode: plan.Concurrency, Concurrency: s.opts.Threads}
	return func(r *record.Record) error { return to(lv, 0, r) }
}

// workload returns a fingerprint of all options that determine what is sent.
func (s *run) workload() string {
	o := s.opts
	return workload.Fingerprint(o.Model, o.Version, o.Protocol, o.Unary, o.Seed, o.Threads, o.Iterations, o.Duration, o.Common, o.Rare, o.RareShare, o.Weights, o.RareWeights,
		o.LengthMean, o.LengthDev, o.Values, o.FirstID, o.IDBlock, o.StringIDs, o.BackToBack, o.Overlap, o.IdleTime, o.CutEvery, o.Chaos, o.ChaosDown, o.Replay)
}

// start does everything up to the first request.
func (s *run) start() (*service.Model, error) {
	var err error
	if s.outcome, err = outcome.Open(s.IO, s.opts.Outcome, "stress", option.CommandLine("redline stress", s.opts.Given)); err != nil {
		return nil, err
	}
	if s.outcome.Tracing("") != nil {
		return nil, errors.New("--trace-requests: redline stress does not trace requests; use redline profile")
	}
	if err := s.Files.Writable(s.opts.JSON); err != nil {
		return nil, err
	}
	if err := s.connect(); err != nil {
		return nil, err
	}
	svc, err := kind.Open(s.plan)
	if s.plan.Target.Streaming {
		svc, err = train.New(s.plan.Target, s.plan.Input)
	}
	if err != nil {
		return nil, err
	}
	s.svc = svc
	m, err := svc.Describe(s.sigs.Soft)
	if err != nil {
		return nil, err
	}
	batcher, err := s.repository().Batcher(s.sigs.Soft)
	if err != nil {
		return nil, err
	}
	s.opts.ServerIdle = batcher.Idle
	if s.opts.StringIDs && batcher.Numbers {
		return nil, fmt.Errorf("model %s takes correlation ids as numbers: --string-ids needs a CORRID of TYPE_STRING in its configuration", m.Name)
	}
	return m, nil
}

// connect makes the plan. With --embedded it starts the server, and with --cut the proxy that cuts connections.
func (s *run) connect() error {
	o := s.opts
	var err error
	if o.Embedded {
		if s.embedded, err = command.StartEmbedded(s.sigs.Soft, s.IO, nil); err != nil {
			return err
		}
		s.server = stress.Address{Host: s.embedded.Address(o.Protocol)}
	}
	address := s.server
	if o.CutEvery > 0 {
		if s.cutter, err = stress.NewCutter(s.sigs.Soft, s.server.Host); err != nil {
			return err
		}
		address = stress.Address{Host: s.cutter.Addr(), Path: s.server.Path}
	}
	s.plan, err = o.Plan(address)
	return err
}

// repository is the server's model repository, over the protocol of the run.
func (s *run) repository() repository.Repository {
	if s.opts.Protocol == plan.HTTP {
		return repository.HTTP(s.server.URL(), s.opts.Model)
	}
	return repository.GRPC(s.server.Host, s.opts.Model)
}

// couple returns a function that sends several requests as one call, or nil if the protocol has no streams.
func (s *run) couple() func(cars []stress.Car) (service.Request, error) {
	svc, ok := s.svc.(*train.Service)
	if !ok {
		return nil
	}
	return func(cars []stress.Car) (service.Request, error) {
		list := make([]train.Car, len(cars))
		for i, c := range cars {
			list[i] = train.Car(c)
		}
		return svc.Train(list)
	}
}

func (s *run) writeJSON(sum *stress.Summary) error {
	if s.opts.JSON == "" {
		return nil
	}
	text, err := json.MarshalIndent(sum, "", "  ")
	if err != nil {
		return err
	}
	return s.Files.WriteFile(s.opts.JSON, append(text, '\n'))
}

// failed prints why the test could not run and returns the exit code.
func (s *run) failed(err error) int {
	if s.sigs.Soft.Err() != nil {
		return command.ExitInterrupted
	}
	if e, ok := errors.AsType[*service.Error](err); ok {
		err = errors.New(target.Advise(&s.plan.Target, "--protocol", e) + target.ModelsThere(s.sigs.Soft, s.svc, &s.plan.Target, e))
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
	w.run.Line.Show(term.Status{Level: level, Window: w.run.opts.Duration, Elapsed: p.Elapsed, Rate: p.Rate, Failed: uint64(p.Failures)})
	w.run.outcome.Progress(p.Live)
}

// chaos unloads and loads the model until the time is over.
func (s *run) chaos() int {
	if err := s.connect(); err != nil {
		return s.failed(err)
	}
	s.sigs.Enter(command.Loading)
	ctx, cancel := context.WithTimeout(s.sigs.Soft, s.opts.Duration)
	defer cancel()
	n, err := stress.Unload(ctx, s.repository(), s.opts.Chaos, s.opts.ChaosDown)
	fmt.Fprintf(s.Stdout, "unloaded and loaded %s %d times\n", s.opts.Model, n)
	if err != nil {
		return s.failed(err)
	}
	return command.ExitOK
}
