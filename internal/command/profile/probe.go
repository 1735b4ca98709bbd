package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/command/profile/calibration"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/result"
)

// Prober sends the traffic of `redline profile` as loads that a search chooses.
type Prober struct {
	traffic.Traffic
	args   []string // without secrets
	prober *profile.Prober
	fleet  workers
}

// NewProber reads the options of `redline profile`. rate: loads are rates of an open loop. Nothing is sent yet.
func NewProber(p *command.IO, args []string, rate bool) (*Prober, error) {
	pl, notes, err := flags.Parse(flags.Redline, args, p.Secrets)
	for _, w := range notes.Warnings {
		fmt.Fprintln(p.Stderr, w)
	}
	given := func(names ...string) string {
		for _, arg := range notes.Options {
			if name, _, _ := strings.Cut(arg, "="); slices.Contains(names, name) {
				return name
			}
		}
		return ""
	}
	if given("--segment") != "" { // Parse refuses it too where the load has no end, which a search never has
		return nil, errors.New("remove --segment: the search chooses loads by the measurements of all parts")
	}
	if err != nil {
		return nil, err
	}
	if notes.SaveScenario != "" {
		return nil, errors.New("remove --save-scenario: a scenario has loads, and the search chooses them")
	}
	if name := given(decided...); name != "" {
		return nil, fmt.Errorf("remove %s: the search decides by intervals how long it measures, and does not calibrate", name)
	}
	if err := probeable(pl); err != nil {
		return nil, err
	}
	if why := NeedsNative(pl); why != "" && !p.Native {
		return nil, command.NativeError(why)
	}
	pl = pl.With(func(pl *plan.Plan) {
		if !rate {
			return
		}
		pl.Load.Mode = plan.RequestRate
		if given("--request-distribution") == "" {
			pl.Load.Distribution = plan.Poisson
		}
		if pl.Target.Call == plan.Auto && !kind.Of(pl.Target.Kind).Synchronous {
			pl.Target.Call = plan.Async // any number of requests may be in flight
		}
	})
	return &Prober{Traffic: traffic.Traffic{IO: p, Plan: pl}, args: notes.Options}, nil
}

// decided are the options about windows, warm-up and calibration, which a search does not have.
var decided = []string{
	"--measurement-interval", "--duration", "--stability-percentage", "--max-trials", "--measurement-mode", "--measurement-request-count",
	"--warmup-request-count", "--calibrate",
}

// probeable names the first option that sets what a search chooses, or that a search does not have.
func probeable(pl *plan.Plan) error {
	load, m, standard := &pl.Load, &pl.Measure, plan.Default()
	const chooses = ": the search chooses the loads and how long each one runs"
	switch {
	case load.Mode == plan.RequestRate:
		return errors.New("remove --request-rate-range" + chooses + "; 'redline find' has --lowest and --highest to bound them")
	case load.Mode != plan.Concurrency:
		return errors.New("remove the option that sets the load" + chooses)
	case load.Concurrency != standard.Load.Concurrency:
		return errors.New("remove --concurrency-range" + chooses + "; 'redline find' has --lowest and --highest to bound them")
	case load.Search == plan.Binary, m.LatencyLimit > 0:
		return errors.New("remove --binary-search and --latency-threshold: the search goes by the rules of --slo")
	case m.RequestCount > 0:
		return errors.New("remove --request-count" + chooses)
	case load.MPI:
		return errors.New("remove --enable-mpi: the search measures alone")
	case pl.Output.CSV != "" || pl.Output.Export != "" || pl.Outcome.Records != "" || pl.Outcome.HistogramLog != "":
		return errors.New("remove -f, --profile-export-file, --records and --histogram-log: the search writes its probes with --json and --report")
	}
	return nil
}

// Start does everything up to the first request. The IO is that of the run, out gets its requests.
func (p *Prober) Start(io *command.IO, sigs *command.Signals, out *outcome.Outcome) error {
	p.IO, p.Sigs = io, sigs
	p.Traffic.Plan = p.Traffic.Plan.With(func(pl *plan.Plan) { pl.Target.Tracing = out.Tracing("") })
	if err := p.Files.Writable(p.Traffic.Plan.Output.ResultJSON); err != nil {
		return err
	}
	connectFleet := func() error { return p.fleet.connect(&p.Traffic) }
	gather := func() error {
		return p.fleet.gather(&p.Traffic, "find", option.CommandLine("redline find profile", p.args))
	}
	if err := command.InOrder(connectFleet, p.StartServer, p.Traffic.Describe, p.Check, p.Load, p.Stage, gather); err != nil {
		return err
	}
	server := outcome.Server{Model: p.Traffic.Plan.Target.Model, Own: p.MetricsPages()}
	if err := out.Connect(sigs.Soft, sigs.Hard, server); err != nil {
		return err
	}
	r := p.Runner()
	r.Floor, r.Tap = calibration.Stated(&p.Traffic), out.Tap(p.Traffic.Plan.Measure.FromSend)
	p.fleet.use(r)
	prober, err := profile.OpenProber(sigs.Hard, r)
	p.prober = prober
	return err
}

// Close ends the connections, and the embedded server.
func (p *Prober) Close() {
	if p.prober != nil {
		_ = p.prober.Close() // nothing is left to report it to
	}
	p.fleet.close()
	p.Traffic.Close()
}

// Outcome is what becomes of the result; JSON is the file of --json.
func (p *Prober) Outcome() (o plan.Outcome, json string) {
	return p.Traffic.Plan.Outcome, p.Traffic.Plan.Output.ResultJSON
}

// Arguments are the options without secrets.
func (p *Prober) Arguments() []string { return p.args }

// Plan is the plan that is sent.
func (p *Prober) Plan() *plan.Plan { return p.Traffic.Plan }

// Server is the address of the server. embedded: each Start starts a server.
func (p *Prober) Server() (address string, embedded bool) {
	return p.Traffic.Plan.Target.URL, p.Traffic.Plan.Target.Embedded
}

// Sample has every number that a rule can be about.
func (p *Prober) Sample() *gate.Sample {
	s := sample(p.Traffic.Plan)
	s.Level.Server, s.Values = nil, nil
	s.Hint = func(r *gate.Rule) string {
		if strings.HasPrefix(r.Name, "server.") {
			return "the search does not read the server's counters; use a latency of the client"
		}
		return hint(r)
	}
	return s
}

// Describe adds what was sent to a result.
func (p *Prober) Describe(res *result.Result) (workload string) {
	res.Environment = profile.Environment()
	res.Plan, res.Model, res.Async = p.Traffic.Plan, p.Model, p.Async
	if p.fleet.run != nil {
		res.Fleet = p.fleet.run.Result()
	}
	return p.Fingerprint()
}

// MaxErrorRate is the share of failed requests above which a level is not valid.
func (p *Prober) MaxErrorRate() float64 { return p.Traffic.Plan.Measure.ValidErrorRate }

// Run sends the load of a level until watch ends it.
func (p *Prober) Run(ctx context.Context, lv result.Level, drain time.Duration, first measure.Look, watch measure.Watch) error {
	return p.prober.Run(ctx, lv, drain, first, watch)
}
