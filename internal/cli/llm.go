package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/inspect"
	"github.com/redline-bench/redline/internal/llm/dataset"
	api "github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve/rpc"
	"github.com/redline-bench/redline/internal/service/openai"
	"github.com/redline-bench/redline/internal/term"
)

func llmHelp() string {
	return `Usage: redline llm -m MODEL -u ADDRESS [options]

Loads a language model and measures it token by token: time to the first token, between tokens, throughput, goodput.
Options that mean what AIPerf's mean have its names. docs/llm.md is the manual, docs/metrics.md has every formula.
` + llmSet(llmDefaults()).Help() + `
Examples
  redline llm -m mock-llm --embedded --streaming --concurrency 1,8 --output-tokens-mean 64
      try it out: no server needed
  redline llm -m llama -u gpu:8000 --streaming --request-rate 5,10 --benchmark-duration 60 --goodput "ttft:200 itl:20"
  redline llm -u localhost:9001 -i grpc -m ensemble --concurrency 1,4,8 --input-data prompts.jsonl --tokenizer-path DIR
      a Triton text model, with the prompts of a file
`
}

func llmNames() []string { return llmSet(llmDefaults()).Names() }

// runLLM is `redline llm`.
func runLLM(p *IO, args []string) int {
	sigs := p.watchSignals(preparing)
	defer sigs.stop()
	o, lo, err := readLLM(args, p.Secrets)
	if errors.Is(err, optset.ErrHelp) {
		fmt.Fprint(p.Stdout, llmHelp())
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "redline llm: %v; see redline llm --help\n", err)
		return exitError
	}
	out, err := p.openOutcome(o.outcome, "llm")
	if err != nil {
		fmt.Fprintf(p.Stderr, "redline llm: %v\n", err)
		return exitError
	}
	// Answers are read and let go, so collecting often is cheap, and the program stays small beside the server it loads.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	p = p.dressed(o.outcome).withProgress(plan.Redline)
	sigs.announce(interruptNotice(p, plan.Redline))
	r := &llmRun{IO: p, outcome: out, opts: o, load: lo, sigs: sigs}
	defer r.close()
	r.given, r.givenLoad = *o, lo // start changes both
	if err := r.start(); err != nil {
		return r.failed(err)
	}
	return r.run()
}

// llmRun is one run of the command.
type llmRun struct {
	*IO
	outcome *outcome
	opts    *llmOptions
	load    load.Options
	// given and givenLoad are opts and load as they were given, for --calibrate.
	given     llmOptions
	givenLoad load.Options
	sigs      *signals
	embedded  *embedded
	plan      *plan.Plan // the target, for messages and the result
	svc       service.Service
	model     *service.Model
	ep        api.Endpoint
	tok       *tokens
	info      dataset.Info
	timed     bool
	res       *result.Result
	floors    func() *calibrate.Table
	lost      error // files that could not be written
	// serverGone: failed requests ended the last level.
	serverGone bool
}

func (r *llmRun) close() {
	r.outcome.close()
	if r.svc != nil {
		_ = r.svc.Close() // nothing is left to report it to
	}
	if r.embedded != nil {
		r.embedded.stop()
	}
}

// start does everything up to the first request.
func (r *llmRun) start() error {
	o := r.opts
	if k := api.Kind(o.kind); o.model == "" && k != api.Raw && k != api.Template {
		return r.noModel()
	}
	if err := r.writable(o.json); err != nil {
		return err
	}
	for _, file := range []string{o.tls.CAFile, o.tls.CertFile, o.tls.KeyFile} {
		if _, err := os.Stat(file); file != "" && err != nil {
			return err
		}
	}
	if o.template != "" {
		text, err := os.ReadFile(o.template)
		if err != nil {
			return fmt.Errorf("--template: %w", err)
		}
		o.template = string(text)
	}
	var err error
	if r.tok, err = loadTokens(o.tokenizer); err != nil {
		return err
	}
	if err := errors.Join(r.prompts(), r.tok.err()); err != nil {
		return err
	}
	if err := r.target(); err != nil {
		return err
	}
	if err := r.checkLimits(); err != nil {
		return err
	}
	return r.connect()
}

// noModel is the error of a run without a model: it names those of the server.
func (r *llmRun) noModel() error {
	if err := r.target(); err != nil {
		return err
	}
	svc, err := r.lister()
	if err != nil {
		return err
	}
	defer svc.Close()
	return inspect.Missing(r.sigs.soft, svc)
}

// lister is the service to ask for the models: the API generate is one of Triton's.
func (r *llmRun) lister() (service.Service, error) {
	p := *r.plan
	if api.Kind(r.opts.kind) == api.Generate {
		p.Target.Kind = plan.Triton
	}
	return newService(&p)
}

// prompts opens the prompts once, so that whatever is wrong with them is known before anything is sent.
func (r *llmRun) prompts() error {
	o := r.opts
	d := &o.data
	if models := strings.Split(o.model, ","); len(models) > 1 {
		o.model, d.Models = models[0], models
	}
	if err := o.readSystem(); err != nil {
		return err
	}
	d.RunID = fmt.Sprintf("%x", time.Now().UnixNano())
	// The default of --concurrency says something else than its absence.
	given := len(o.modes()) > 0 || o.set.Given("concurrency")
	if o.noFix || given && !o.fixed || d.Trace.IgnoreDelays && !o.fixed {
		d.Trace.IgnoreTimes = true
	}
	file := d.Path != ""
	bounded := o.requests > 0 || o.sessions > 0 || o.duration > 0 || r.load.Until != nil || load.Length(o.stages)+load.Length(o.sessionStages) > 0
	if file && !bounded {
		d.Once = true
	}
	src, err := dataset.Open(r.sigs.soft, *d, r.tok.forPrompts())
	if err != nil {
		return err
	}
	defer src.Close()
	r.info, r.timed = src.Describe(), src.Timed() && !d.Trace.IgnoreTimes
	if r.info.Talks && !api.Kind(o.kind).Talks() {
		if r.info.Format != dataset.ShareGPT {
			return fmt.Errorf("--endpoint-type %s takes one prompt, but conversations have several turns: use chat, responses or messages", o.kind)
		}
		d.FirstTurn, r.info.Talks = true, false // as AIPerf and vLLM's bench take this file
	}
	if o.fixed && !src.Timed() {
		return fmt.Errorf("--fixed-schedule: %s has no times", d.Path)
	}
	if !file && !bounded {
		most := 1
		for _, c := range o.concurrency {
			most = max(most, c)
		}
		r.load.Requests = max(32, 4*most)
	}
	for _, c := range o.concurrency {
		if n := r.load.Requests; n > 0 && n < c && len(o.modes()) == 0 {
			fmt.Fprintf(r.Stderr, "redline llm: warning: %d requests cannot keep %d conversations busy: raise --request-count\n", n, c)
			break
		}
	}
	return nil
}

// target makes the plan of the server.
func (r *llmRun) target() error {
	o := r.opts
	k := api.Kind(o.kind)
	t := plan.Target{
		Kind: plan.OpenAI, Protocol: plan.HTTP, URL: o.urls[0], Model: o.model, Headers: o.headers, TLS: o.tls, Call: plan.Async, Timeout: o.timeout,
		HTTPVersion: o.http, MaxResponse: o.largest,
	}
	t.TLS.CertType, t.TLS.KeyType, t.TLS.VerifyHostLevel = "PEM", "PEM", 2
	t.TLS.SkipVerifyPeer, t.TLS.SkipVerifyHost = o.insecure, o.insecure
	if k.GRPC() {
		t.Kind, t.Protocol, t.Streaming = plan.Triton, plan.GRPC, true
		t.TLS.GRPC = o.grpcTLS || strings.HasPrefix(t.URL, "grpcs://")
		t.URL = plainAddress(t.URL)
	}
	if err := r.addKey(&t, k); err != nil {
		return err
	}
	if o.embedded {
		var err error
		if r.embedded, err = startEmbedded(r.sigs.soft, r.IO, nil); err != nil {
			return err
		}
		t.URL, t.Embedded = r.embedded.address(t.Protocol), true
		if !k.GRPC() && k != api.Generate {
			t.URL = r.embedded.address("openai")
		}
		o.urls = []string{t.URL}
	}
	r.plan = &plan.Plan{Face: plan.Redline, Target: t, Input: plan.Input{Batch: 1, SharedMemory: plan.NoSharedMemory}}
	return nil
}

// plainAddress is an address of gRPC without its scheme.
func plainAddress(url string) string {
	return strings.TrimPrefix(strings.TrimPrefix(url, "grpcs://"), "grpc://")
}

// addKey adds the header of the API key.
func (r *llmRun) addKey(t *plan.Target, k api.Kind) error {
	o := r.opts
	key := o.apiKey
	if o.apiKeyEnv != "" {
		if key = r.Getenv(o.apiKeyEnv); key == "" {
			return fmt.Errorf("--api-key-env: the variable %s is not set", o.apiKeyEnv)
		}
	}
	if k == api.Messages {
		t.Headers = append(t.Headers, plan.Header{Name: "anthropic-version", Value: "2023-06-01"})
	}
	r.Secrets.Add(key)
	switch {
	case key == "":
	case k == api.Messages:
		t.Headers = append(t.Headers, plan.Header{Name: "x-api-key", Value: key})
	default:
		t.Headers = append(t.Headers, plan.Header{Name: "Authorization", Value: "Bearer " + key})
	}
	return nil
}

// connect makes the service and the endpoint, and asks the server what it must tell.
func (r *llmRun) connect() error {
	o := r.opts
	eo := api.Options{
		Kind: api.Kind(o.kind), Model: o.model, Stream: o.streaming, Extra: o.extra, LegacyMaxTokens: o.legacy, NoUsage: o.noUsage, ChunkUsage: o.chunks,
		Body: o.template, ResponsePath: o.response, Encode: r.tok.ids(),
	}
	eo.PromptPath, eo.CompletionsPath, _ = strings.Cut(o.usage, ",")
	var list []service.Service
	var err error
	if eo.Kind.GRPC() {
		if list, err = r.models(); err != nil {
			return err
		}
		eo.Metadata = r.model
		eo.Stream = (r.model.Decoupled || o.streaming) && !o.noStream
	}
	if r.ep, err = api.New(eo); err != nil {
		return err
	}
	if list == nil {
		if list, err = r.endpoints(); err != nil {
			return err
		}
	}
	return r.wait(list)
}

// models makes a service for each address over gRPC, and asks each for the model.
func (r *llmRun) models() ([]service.Service, error) {
	var list []service.Service
	for _, u := range r.opts.urls {
		t := r.plan.Target
		t.URL = plainAddress(u)
		svc, err := rpc.New(t, r.plan.Input)
		if err != nil {
			return nil, err
		}
		r.balance(append(list, svc))
		m, err := r.describe(svc)
		if err != nil {
			return nil, err
		}
		if list = append(list, svc); r.model == nil {
			r.model = m
		}
	}
	return list, nil
}

// endpoints makes a service for each address over HTTP.
func (r *llmRun) endpoints() ([]service.Service, error) {
	path := r.opts.path
	if path == "" {
		path = r.ep.Path()
	}
	r.plan.Target.Endpoint = path
	var list []service.Service
	for _, u := range r.opts.urls {
		t := r.plan.Target
		t.URL = u
		s, err := openai.New(t)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	r.balance(list)
	return list, nil
}

// balance lets requests go to several services in turn.
func (r *llmRun) balance(list []service.Service) {
	if r.svc = list[0]; len(list) > 1 {
		r.svc = load.NewBalanced(list)
	}
}

// run measures all levels.
func (r *llmRun) run() int {
	r.res = &result.Result{
		Schema: result.Schema, Tool: "redline", Version: r.version(), StartUnixNs: time.Now().UnixNano(), Plan: r.plan, Model: r.model, Async: true,
		Environment: profile.Environment(),
	}
	r.outcome.sign(r.res, r.info.Hash)
	r.outcome.live.begin("llm", r.plan)
	r.head()
	var limits [][]result.Reason
	var stopped string
	var err error
	for i, lv := range r.opts.levels(r.timed) {
		var out *load.Outcome
		if out, err = r.level(i, lv); err != nil || out == nil {
			break
		}
		r.state(&out.Level)
		r.res.Levels = append(r.res.Levels, out.Level)
		limits = append(limits, out.Reasons)
		r.outcome.live.levelEnds(&out.Level)
		r.show(out, lv)
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
		r.calibrateRun(r.given, r.givenLoad)
	}
	code := r.end(limits, stopped, err)
	return r.outcome.finish(r.res, code)
}

// level measures a level as often as asked for.
func (r *llmRun) level(index int, lv load.Level) (*load.Outcome, error) {
	var runs []*load.Outcome
	for n := range r.opts.runs {
		cfg := load.Config{
			Service: r.svc, Endpoint: r.ep, Options: r.load, Count: r.tok.count(), UseServer: r.opts.serverCounts || r.tok == nil,
			Open:     func() (load.Source, error) { return r.source(n) },
			Progress: r.progress, Tap: r.tap(lv, n), RequestHeader: "X-Request-ID", SessionHeader: r.opts.session,
		}
		cfg.Options.Seed = r.seed(n)
		if n == 0 || !r.opts.warmOnce {
			cfg.Options.Warmup = r.opts.warm.phase(&cfg.Options, lv)
		}
		if pause := r.opts.cooling(index, n); !clock.SleepUntil(r.sigs.soft, clock.Now()+int64(pause)) {
			r.res.Interrupted = true
			break
		}
		files, err := r.files(index, n, lv)
		if err != nil {
			return nil, err
		}
		files.wire(&cfg)
		pages, err := r.watchServer(index, n, lv)
		if err != nil {
			files.abort()
			return nil, err
		}
		cfg.Measured = pages.begin
		r.sigs.enter(loading)
		out, err := load.Run(r.sigs.soft, r.sigs.hard, cfg, lv)
		r.sigs.enter(writing)
		r.Line.Clear()
		if err != nil {
			files.abort()
			pages.abort()
			if r.sigs.soft.Err() != nil {
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
	return merge(runs, r.opts.confidence), nil
}

// seed is that of the prompts and of the schedule of the nth measurement of a level. Repeats have seeds of their own: with the
// same arrivals, runs agree with each other more than with the truth.
func (r *llmRun) seed(n int) uint64 {
	if r.opts.sameSeed {
		return r.opts.data.Seed
	}
	return r.opts.data.Seed + uint64(n)
}

// source opens the prompts of one measurement.
func (r *llmRun) source(n int) (load.Source, error) {
	d := r.opts.data
	d.Seed = r.seed(n)
	return dataset.Open(r.sigs.soft, d, r.tok.forPrompts())
}

func (r *llmRun) progress(p load.Progress) {
	level := measure.LevelName(p.Level)
	if p.Warmup {
		level = "warm-up"
	}
	r.Line.Show(term.Status{
		Level: level, Elapsed: p.Elapsed, Window: r.load.Duration, Requests: p.Requests, Wanted: p.Wanted, Rate: p.Rate, Median: p.Median, Failed: p.Failed,
	})
	if !p.Warmup {
		r.outcome.live.progress(p.Live)
	}
}

// tap gives every request of the nth measurement of a level to those who write them down.
func (r *llmRun) tap(lv load.Level, n int) func(*record.Record) error {
	to := r.outcome.tap()
	if to == nil {
		return nil
	}
	head := &result.Level{Mode: lv.Mode, Concurrency: lv.Concurrency, Rate: lv.Rate}
	return func(rec *record.Record) error { return to(head, n, rec) }
}
