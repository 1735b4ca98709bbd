package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// Prober sends the traffic of `redline llm` as loads that a search chooses.
type Prober struct {
	traffic
	outcome *outcome.Outcome
	workers workers
	runs    int
}

// searchCommand is what workers are told that a search with this traffic is.
const searchCommand = "find llm"

// NewProber reads the options of `redline llm`. Nothing is sent yet.
func NewProber(p *command.IO, args []string) (*Prober, error) {
	t, err := read(args, p.Secrets)
	if err != nil {
		return nil, err
	}
	for _, name := range chosen {
		if t.table.Given(name) {
			return nil, fmt.Errorf("remove --%s: the search chooses the loads and how long each one runs", name)
		}
	}
	for _, name := range perLevel {
		if t.table.Given(name) {
			return nil, fmt.Errorf("remove --%s: the search does not write files for each level", name)
		}
	}
	if t.save != "" {
		return nil, errors.New("remove --save-scenario: a scenario has loads, and the search chooses them")
	}
	if t.opts.several() {
		return nil, errors.New("--isl and --osl take one number: the search chooses the levels")
	}
	t.IO = p
	t.search()
	return &Prober{traffic: t}, nil
}

// search changes what is asked for to what a search has.
func (r *traffic) search() {
	r.load.MaxErrors, r.load.MaxErrorShare, r.load.Until = 0, 0, nil // a rule for error_rate decides about failures
	r.load.Duration = time.Hour                                      // a file of prompts is read again from its start
}

// chosen are the options whose values a search chooses; perLevel write files for each level.
var (
	chosen = []string{
		"concurrency", "request-rate", "stages", "request-rate-series", "concurrency-stages", "user-centric-rate", "num-users", "fixed-schedule", "segment",
		"request-count", "num-conversations", "benchmark-duration", "measurement-interval", "cooldown-duration", "until", "runs", "max-errors", "calibrate",
		"warmup-request-count", "num-warmup-sessions", "warmup-duration",
	}
	perLevel = []string{"artifact-dir", "exports", "export-level", "export-outputs-json", "slice-duration", "profile-export-prefix", "records", "histogram-log"}
)

// Start does everything up to the first request. The IO is that of the run, out gets its requests.
func (p *Prober) Start(io *command.IO, sigs *command.Signals, out *outcome.Outcome) error {
	p.IO, p.sigs, p.tracing, p.outcome = io, sigs, out.Tracing(""), out
	connect := func() error { return p.workers.connect(&p.traffic) }
	gather := func() error { return p.workers.gather(&p.traffic, searchCommand) }
	if err := command.InOrder(connect, p.traffic.start, gather); err != nil {
		return err
	}
	p.timed = false // a search sends at its own times
	p.plan = p.plan.With(func(pl *plan.Plan) { pl.Fleet.Workers = p.opts.Fleet.Workers })
	return out.Connect(sigs.Soft, sigs.Hard, p.server())
}

// Close lets the workers go, and ends the connections and the embedded server.
func (p *Prober) Close() {
	p.workers.close()
	p.traffic.close()
}

// Outcome is what becomes of the result; JSON is the file of --json.
func (p *Prober) Outcome() (o plan.Outcome, json string) { return p.opts.Outcome, p.opts.JSON }

// Arguments are the options without secrets.
func (p *Prober) Arguments() []string { return p.table.Arguments() }

// Plan is the target. It is known after Start.
func (p *Prober) Plan() *plan.Plan { return p.plan }

// Server is the address of the server. embedded: each Start starts a server.
func (p *Prober) Server() (address string, embedded bool) {
	return strings.Join(p.opts.addresses(), ","), p.opts.Embedded
}

// Pauses tells whether conversations pause between their turns, as far as the options say.
func (p *Prober) Pauses() bool {
	return p.opts.ThinkTime.Mean > 0 || p.opts.Data.Path != "" || p.opts.Data.Delay.Mean > 0
}

// Sample has every number that a rule can be about.
func (p *Prober) Sample() *gate.Sample { return p.opts.sample(p.load.Goodput) }

// Describe adds what was sent to a result.
func (p *Prober) Describe(res *result.Result) (workload string) {
	res.Environment = profile.Environment()
	res.Plan, res.Model, res.Async, res.GoodputBounds = p.wholePlan(), p.model, true, metric.Bounds(p.load.Goodput)
	if p.workers.run != nil {
		res.Fleet = p.workers.run.Result()
	}
	return p.info.Hash
}

// MaxErrorRate is the share of failed requests above which a level is not valid.
func (p *Prober) MaxErrorRate() float64 { return p.opts.ValidErrorRate }

// Advise says in one line what went wrong, where, and what to do.
func (p *Prober) Advise(err error) string { return p.advised(err).Error() }

// Run sends the load of a level until watch ends it. Each run draws its own arrivals and prompts.
func (p *Prober) Run(ctx context.Context, level result.Level, drain time.Duration, first measure.Look, watch measure.Watch) error {
	p.runs++
	lv := load.Level{Mode: level.Mode, Concurrency: level.Concurrency, Rate: level.Rate}
	cfg := p.probeConfig(p.runs)
	cfg.Options.Grace, cfg.Options.Confidence = drain, find.Level
	p.workers.useFleet(&cfg, phaseOrder{Repeat: p.runs, Load: &lv})
	cfg.First, cfg.Watch = first, watch
	if tap := p.outcome.Tap(false); tap != nil {
		cfg.Tap = func(rec *record.Record) error { return tap(&level, 0, rec) }
	}
	showResponses(&cfg, &level, p.outcome.Responses(""))
	_, err := load.Run(ctx, p.sigs.Hard, cfg, lv)
	if w := p.workers.run; w != nil && w.Broken() != nil {
		return w.Broken()
	}
	return errors.Join(err, p.workers.levelEnded(ctx, nil, nil))
}

// probeConfig is what the nth load of a search works with.
func (r *traffic) probeConfig(n int) load.Config {
	cfg := r.config(n)
	o := &cfg.Options
	o.Requests, o.Sessions, o.Duration, o.Seed = 0, 0, 0, r.seed(n)
	return cfg
}
