// Package llm is `redline llm`: it loads a language model and measures it token by token. Options become traffic (what is
// sent to which server), a run measures its levels and reports; the rest calibrates: it sends the same traffic to a reference
// server.
package llm

import (
	"encoding/json"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/class"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// Run is `redline llm`.
func Run(p *command.IO, args []string) (int, error) {
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	t, err := read(args, p.Secrets)
	if err != nil {
		return 0, command.Usage(err)
	}
	return start(p, sigs, t, t.table.Command("redline llm"), workers{})
}

// start carries out a run and returns the exit code. line is the command line without secrets; w are the workers of a run that is taken up.
func start(p *command.IO, sigs *command.Signals, t traffic, line string, w workers) (int, error) {
	if err := class.Save(p, t.save, "llm", t.table.Arguments(), t.table.Rows, Outside()); err != nil {
		return 0, err
	}
	r := &session{traffic: t, workers: w}
	defer r.close()
	out, err := outcome.Open(p, t.opts.Outcome, "llm", line)
	r.outcome = out
	if err == nil {
		err = out.CheckRules(t.opts.sample(t.load.Goodput))
	}
	if err != nil {
		return 0, err
	}
	// Answers are read and let go, so collecting often is cheap, and the program stays small beside the server it loads.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	r.IO, r.sigs, r.tracing = p.ForRun(t.opts.Outcome, sigs), sigs, out.Tracing("")
	connectFleet := func() error { return r.workers.connect(&r.traffic) }
	gather := func() error { return r.workers.gather(&r.traffic, "llm") }
	if err := command.InOrder(connectFleet, r.start, gather); err != nil {
		return r.failed(err), nil
	}
	return r.measure(), nil
}

// Command describes the command.
func Command() option.Command {
	return option.Command{Exits: command.Exits(command.ExitOK, command.ExitAssertion, command.ExitInvalid, command.ExitError, command.ExitInterrupted), Common: []string{
		"model", "url", "endpoint-type", "streaming", "api-key-env", "concurrency", "request-rate", "request-count", "benchmark-duration", "goodput",
		"warmup-request-count", "input-file", "tokenizer", "synthetic-input-tokens-mean", "output-tokens-mean", "json", "report", "artifact-dir", "assert", "verbose",
	}, Rows: defaults().rows(), Intro: `Usage: redline llm -m MODEL -u ADDRESS [options]

Loads a language model and measures it token by token: time to first token, inter-token latency, throughput, goodput.
Options that AIPerf also has have AIPerf's names. docs/llm.md is the manual, docs/metrics.md has every formula.
`, Examples: `  redline llm -m mock-llm --embedded --streaming --concurrency 1,8 --output-tokens-mean 64
      try it out: no server needed
  redline llm -m llama -u gpu:8000 --streaming --request-rate 5,10 --duration 60s --goodput "ttft:200ms itl:20ms"
      measure at 5 and 10 requests per second how many responses meet the bounds
  redline llm -u localhost:9001 -i grpc -m ensemble --concurrency 1,4,8 --input-data prompts.jsonl --tokenizer-path DIR
      measure a Triton text model with prompts from a file
`}
}

// session is one run of the command.
type session struct {
	traffic
	outcome *outcome.Outcome
	workers workers
	res     *result.Result
	floors  func() *calibrate.Table
	lost    error // files that could not be written
	// serverGone: failed requests ended the last level.
	serverGone bool
	// stranger says what the server is, if it is none of language models.
	stranger string
	lesson   *lesson // of a warm-up, about the lengths of prompts; nil: none, or its end was told
	// together is what a class of a scenario shares with the others; nil in a run of its own.
	together *class.Together
}

func (r *session) close() {
	r.outcome.Close()
	r.workers.close()
	r.traffic.close()
}

// measure measures all levels.
func (r *session) measure() int {
	r.open()
	r.outcome.Begin(r.plan)
	r.head()
	var limits [][]result.Reason
	var stopped string
	err := r.outcome.Connect(r.sigs.Soft, r.sigs.Hard, r.watched())
	if err == nil {
		limits, stopped, err = r.measureLevels()
	}
	code := r.end(limits, stopped, err)
	return r.outcome.Finish(r.res, code)
}

// open makes the result.
func (r *session) open() {
	r.res = &result.Result{
		Schema: result.Schema, Tool: "redline", Version: r.Version, StartUnixNs: time.Now().UnixNano(), Plan: r.wholePlan(), Model: r.model, Async: true,
		Environment: profile.Environment(), Options: r.table.Arguments(), GoodputBounds: metric.Bounds(r.load.Goodput),
	}
}

// wholePlan is the plan of the result: the server as it was found, and all that was asked for.
func (r *traffic) wholePlan() *plan.Plan {
	own, _ := json.Marshal(r.written) // plain data
	return r.plan.With(func(p *plan.Plan) { p.Own = own })
}

// measureLevels measures the levels one after another. limits are, for each, the reasons why the client limited it; stopped is
// what ended the last one early.
func (r *session) measureLevels() (limits [][]result.Reason, stopped string, err error) {
	known := r.workers.known()
	for i, s := range r.opts.steps(r.timed) {
		lv := s.Level
		if i < len(known) {
			limits = append(limits, r.takeKnown(known[i], lv))
			continue
		}
		if err = r.choose(&s); err != nil {
			break
		}
		var out *load.Outcome
		if out, err = r.level(i, lv); err != nil || out == nil {
			break
		}
		if r.together != nil {
			out.Level.Class = r.together.Name
		}
		r.state(&out.Level)
		r.endLevel(&out.Level) // it adds to the level
		r.res.Levels = append(r.res.Levels, out.Level)
		limits = append(limits, out.Reasons)
		r.show(out, lv)
		if err = r.levelEnded(out); err != nil {
			break
		}
		stopped, r.serverGone = out.Stopped, out.ServerGone
		r.res.Interrupted = r.res.Interrupted || out.Interrupted
		if stopped != "" || r.res.Interrupted {
			break
		}
	}
	if err == nil {
		err = r.tok.err()
	}
	if err == nil && stopped == "" {
		r.calibrateRun()
	}
	return limits, stopped, err
}

// config is what the nth measurement of a level works with.
func (r *traffic) config(n int) load.Config {
	return load.Config{
		Service: r.svc, Endpoint: r.ep, Options: r.load, Count: r.tok.count(), Counting: r.opts.counting(),
		ChatTemplate: r.template, Rendered: r.rendered(), Template: func() llm.Template { return r.data.Estimate.Template }, Open: func() (load.Source, error) { return r.source(n) },
		RequestHeader: "X-Request-ID", SessionHeader: r.opts.Session, Tracing: r.tracing, Here: slices.ContainsFunc(r.urls, plan.IsLocal),
	}
}

// levelConfig is what the nth measurement of a level works with, with its warm-up.
func (r *traffic) levelConfig(n int, lv load.Level) load.Config {
	cfg := r.config(n)
	cfg.Options.Seed = r.seed(n)
	if n == 0 || !r.opts.WarmOnce {
		cfg.Options.Warmup = r.opts.Warm.phase(&cfg.Options, lv)
	}
	return cfg
}

// level measures a level as often as asked for.
func (r *session) level(index int, lv load.Level) (*load.Outcome, error) {
	var runs []*load.Outcome
	head := &result.Level{Mode: lv.Mode, Concurrency: lv.Concurrency, Rate: lv.Rate, Prompts: lv.Prompts}
	responses := r.outcome.Responses("")
	if r.together != nil {
		head.Class, responses = r.together.Name, r.together.Responses
	}
	for n := range r.opts.Runs {
		cfg := r.levelConfig(n, lv)
		r.workers.useFleet(&cfg, phaseOrder{Step: index, Repeat: n})
		cfg.Progress = func(p load.Progress) { r.progress(&p, head, index*r.opts.Runs+n) }
		cfg.Tap = r.tap(head, n)
		if pause := r.opts.cooling(index, n); !clock.SleepUntil(r.sigs.Soft, clock.Now()+int64(pause)) {
			r.res.Interrupted = true
			break
		}
		files, err := r.files(index, n, lv)
		if err != nil {
			return nil, err
		}
		files.wire(&cfg)
		r.learnLengths(&cfg)
		showResponses(&cfg, head, responses)
		pages, err := r.watchServer(index, n, lv)
		if err != nil {
			files.abort()
			return nil, err
		}
		cfg.Measured = func() {
			if r.together != nil {
				_ = r.together.Ready(r.sigs.Soft) // it waits for the other classes; an interrupt ends the load as well
			}
			pages.begin()
		}
		r.enter(command.Loading)
		out, err := load.Run(r.sigs.Soft, r.sigs.Hard, cfg, lv)
		r.enter(command.Writing)
		r.Line.Clear()
		if err != nil {
			files.abort()
			pages.abort()
			if r.sigs.Soft.Err() != nil {
				r.res.Interrupted = true
				break
			}
			return nil, err
		}
		err = pages.close(out)
		r.lost = errors.Join(r.lost, files.close(out, pages.telemetry(out)), err) // the numbers are there nevertheless
		runs = append(runs, out)
		if out.Stopped != "" {
			break
		}
	}
	return load.Merge(runs, r.opts.Confidence), nil
}

// cooling is the pause before a measurement: none before the first.
func (p *Plan) cooling(level, run int) time.Duration {
	switch {
	case run > 0:
		return p.RunPause
	case level > 0:
		return p.Pause
	}
	return 0
}

// tap gives every request of the nth measurement of a level to those who write them down.
func (r *session) tap(lv *result.Level, n int) func(*record.Record) error {
	to := r.outcome.Tap(false)
	if r.together != nil {
		to = r.together.Tap(false)
	}
	if to == nil {
		return nil
	}
	return func(rec *record.Record) error { return to(lv, n, rec) }
}
