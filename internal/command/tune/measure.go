package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/tune"
)

// The requests in flight get this time after a load, by stage: a candidate that is only screened may leave a long queue, and a
// new one is loaded after it.
var drainTime = map[tune.Stage]time.Duration{tune.Screen: 5 * time.Second, tune.Refine: 10 * time.Second, tune.Find: 30 * time.Second}

// bounds of the loads, in requests per second.
const (
	lowestRequests = 10 // of the longest probe at the lowest rate
	leastRequests  = 30 // of the shortest probe at the first rate
	highestRate    = 1e6
)

// candidate is the measurement of one candidate in one stage.
type candidate struct {
	*session
	step     tune.Step
	values   []string
	traffic  search.Traffic
	counters []counter // of the models whose requests the server counts
	batch    float64
	warm     float64 // requests per second of the warm-up
	began    time.Time
	search   *find.Search
	loads    map[float64]*sight
}

// sight is what was seen of one load.
type sight struct {
	level  *result.Level
	server *result.TuneServer
	gpu    *result.GPU
}

// fatal is an error that ends the search: no candidate can be measured any more.
type fatal struct{ error }

// measure applies a candidate and measures it. The error is fatal or nil; what goes wrong with the candidate is in the entry.
func (s *session) measure(ctx context.Context, step tune.Step) (entry, error) {
	values := s.values(step.Point)
	e := entry{Values: values, Stage: step.Stage.String()}
	c := &candidate{session: s, step: step, values: values, began: time.Now(), loads: map[float64]*sight{}}
	err := c.run(ctx, &e)
	e.Seconds = time.Since(c.began).Seconds()
	if err != nil && ctx.Err() == nil {
		e.Failed = line(err)
		if f := new(fatal); errors.As(err, f) {
			return e, *f
		}
		if down := s.alive(ctx); down != nil {
			return e, fatal{fmt.Errorf("the server did not come back within %v: %w", s.opts.ready, down)}
		}
	}
	return e, nil
}

// alive waits until the server answers. With --apply the next candidate may start it.
func (s *session) alive(ctx context.Context) error {
	if s.control != nil {
		clear(s.control.loaded) // a server that was started again has its own configuration
		if err := awaitServer(ctx, s.control.svc, s.opts.ready); err != nil {
			return err
		}
		s.control.unloadAll(ctx)
		return nil
	}
	pl := s.base.Plan()
	if pl == nil || s.opts.apply != "" {
		return nil
	}
	svc, err := open(pl)
	if err != nil {
		return err
	}
	defer svc.Close()
	return awaitServer(ctx, svc, s.opts.ready)
}

func (c *candidate) run(ctx context.Context, e *entry) error {
	if err := c.apply(ctx); err != nil {
		return err
	}
	more := c.arguments(c.values)
	first := !c.started
	t, err := c.ready(ctx, more, c.opts.apply != "")
	if err != nil {
		if first && c.opts.apply == "" && len(more) == 0 {
			return fatal{err}
		}
		return err
	}
	defer t.Close()
	c.traffic, c.started = t, true
	c.batch = 1
	if c.what == ofProfile && len(c.together) == 0 {
		c.batch = float64(max(1, t.Plan().Input.Batch))
	}
	c.outcome.Begin(t.Plan())
	c.openCounters(ctx)
	defer c.closeCounters()
	if err := c.warmUp(ctx); err != nil {
		return err
	}
	if c.single == 0 {
		if c.single, err = find.Estimate(ctx, c.step.Limit, c.send); err != nil {
			return err
		}
	}
	if c.search, err = find.New(c.config()); err != nil {
		return fatal{err}
	}
	err = c.search.Run(ctx, c, c.show)
	c.answer(e)
	return err
}

// apply gives the server the configuration of the candidate.
func (c *candidate) apply(ctx context.Context) error {
	if c.control != nil {
		limited, cancel := context.WithTimeout(ctx, c.opts.ready)
		defer cancel()
		if err := c.control.apply(limited, c.space.knobs, c.values); err != nil {
			return err
		}
	}
	if c.opts.apply == "" {
		return nil
	}
	c.changed = true
	return c.shell(ctx, c.opts.apply, c.values)
}

// send sends a load of the candidate's traffic.
func (c *candidate) send(ctx context.Context, lv result.Level, first measure.Look, watch measure.Watch) error {
	return c.traffic.Run(ctx, lv, drainTime[c.step.Stage], first, watch)
}

// warmRequests is how many requests are in flight while a candidate warms up.
const warmRequests = 4

// warmUp sends requests that are not measured: a model that was just loaded answers its first requests slowly.
func (c *candidate) warmUp(ctx context.Context) error {
	long, limit, down := max(c.opts.probe/2, 2*c.single), c.opts.ready, ""
	if c.step.Limit > 0 {
		limit = min(limit, c.step.Limit)
	}
	err := c.send(ctx, result.Level{Mode: plan.Concurrency, Concurrency: warmRequests}, measure.Look{At: long}, func(now measure.Sight) (measure.Look, bool) {
		c.warm, down = float64(now.Requests)/now.Elapsed.Seconds(), now.Down
		return measure.Look{At: now.Elapsed + long}, down == "" && now.Requests < warmRequests && now.Elapsed < limit
	})
	if err == nil && c.warm == 0 && ctx.Err() == nil {
		err = errors.New(cmp.Or(down, fmt.Sprintf("no request of the warm-up succeeded within %v", limit.Round(time.Second))))
	}
	return err
}

// times are the measured times of probes of a stage, as multiples of --probe.
var times = map[tune.Stage]struct{ settle, least, most float64 }{
	tune.Screen: {0.5, 1, 3},
	tune.Refine: {0.75, 2, 6},
	tune.Find:   {1, 2, 10},
}

// config is the search for the capacity of the candidate. Slow responses get longer probes.
func (c *candidate) config() find.Config {
	probe := max(c.opts.probe, 4*c.single, c.latencyLimit()) // an overload needs time to show
	of := func(x float64) time.Duration { return time.Duration(x * float64(probe)) }
	t := times[c.step.Stage]
	conf := find.Config{
		Tiers: c.tiers, Start: cmp.Or(c.step.First(c.warm*c.batch)/c.batch, 1/c.single.Seconds()), Growth: c.step.Growth, Resolution: c.opts.resolution,
		Lowest: lowestRequests / of(times[tune.Find].most).Seconds(), Highest: highestRate,
		Settle: max(of(t.settle), 3*c.single), MinTime: of(t.least), MaxTime: of(t.most), Confirm: c.opts.confirm,
		MaxFailed: c.traffic.MaxErrorRate(),
	}
	if c.step.Limit > 0 {
		conf.Budget = max(c.step.Limit-time.Since(c.began), time.Millisecond)
	}
	conf.MinTime = min(max(conf.MinTime, time.Duration(leastRequests/conf.Start*float64(time.Second))), conf.MaxTime)
	conf.Tick = min(conf.MinTime/4, time.Second)
	return conf
}

// latencyLimit is the longest latency that an objective allows; 0 where none is about a latency.
func (s *session) latencyLimit() time.Duration {
	known := s.base.Sample().Level
	return s.tiers[0].LatencyLimit(func(metric string) bool {
		number, ok := known.Read(metric)
		return ok && number.Unit == "ms"
	})
}

// Run implements find.Runner: it sends a load and notes what the server and its GPUs did meanwhile.
func (c *candidate) Run(ctx context.Context, load float64, drain time.Duration, first measure.Look, watch measure.Watch) error {
	seen := &sight{}
	before := c.count(ctx)
	gpu := c.pollGPU(ctx, c.gpus)
	noted := search.Noted(watch, func(lv *result.Level) { seen.level = lv })
	drain = min(drain, drainTime[c.step.Stage])
	err := c.traffic.Run(ctx, result.Level{Mode: plan.RequestRate, Rate: load}, drain, first, func(now measure.Sight) (measure.Look, bool) {
		c.outcome.Progress(func() *result.Level { lv, _ := now.Level(0); return lv })
		return noted(now)
	})
	seen.gpu = gpu()
	seen.server = c.since(ctx, before)
	if seen.level != nil {
		c.loads[load] = seen
	}
	return err
}

// show is told of each look: it ends the search for the capacity when the stage knows enough.
func (c *candidate) show(now measure.Sight) {
	c.progress(now, c)
	low, high := c.bracket()
	enough := c.step.Enough(low*c.batch, high*c.batch) || c.step.Stage != tune.Find && c.search.Step().Purpose == find.Confirm
	if enough && c.search.Step().Do != find.Finish {
		c.search.Stop(find.Interrupted, "enough is known")
	}
}

// bracket is the highest load that holds below every load that fails, and the lowest load that fails.
func (c *candidate) bracket() (low, high float64) {
	a := c.search.Answer()
	high = math.Inf(1)
	for i := range a.Probes {
		p := &a.Probes[i]
		if p.End == find.Running || p.End == find.Stopped {
			continue
		}
		if p.Judgments[0].Verdict == find.Fails {
			high = min(high, p.Load)
		}
	}
	for i := range a.Probes {
		p := &a.Probes[i]
		if p.End != find.Running && p.End != find.Stopped && p.Judgments[0].Verdict == find.Holds && p.Load < high {
			low = max(low, p.Load)
		}
	}
	return low, high
}

// unstable says that requests failed at a load, or the server went down. It is empty if the load was only too high for an objective.
func (c *candidate) unstable(load float64) string {
	probes, objectives := c.search.Answer().Probes, c.search.Objectives()
	for i := range probes {
		p := &probes[i]
		j := &p.Judgments[0]
		if p.Load != load || j.Verdict != find.Fails || p.End == find.Overload {
			continue
		}
		if p.End == find.ServerDown || !slices.ContainsFunc(objectives, func(r gate.Rule) bool { return r.Text == j.Objective }) {
			return fmt.Sprintf("at %s requests/s %s", number(load), j.Why)
		}
	}
	return ""
}

// kept is the share of the requests that the server answered in time: below 1 in an overload. Of several models that of the worst counts.
// It is 0 where it is not known.
func (s *sight) kept() float64 {
	if s == nil {
		return 0
	}
	parts := s.level.Parts
	if len(parts) == 0 {
		parts = []result.Level{*s.level}
	}
	share := 1.0
	for i := range parts {
		c := &parts[i].Client
		if c.DurationNs == 0 || parts[i].Rate == 0 {
			return 0
		}
		share = min(share, float64(c.Requests)/time.Duration(c.DurationNs).Seconds()/parts[i].Rate)
	}
	return share
}

// sent is the number of probes that were sent. The one that a search would have sent next when it was stopped is not.
func sent(probes []find.Probe) int {
	n := 0
	for i := range probes {
		if probes[i].End != find.Stopped || probes[i].Last.Elapsed > 0 {
			n++
		}
	}
	return n
}

const clientLimit = "the client reached its limit before the server did"

// answer fills an entry with what the search for the capacity has shown.
func (c *candidate) answer(e *entry) {
	a := c.search.Answer()
	low, high := c.bracket()
	e.Probes, e.cut = sent(a.Probes), a.State == find.OutOfTime
	at, limited := low, ""
	capacity := &a.Capacities[0]
	switch capacity.Outcome {
	case find.Found, find.AtLeast, find.AllHold:
		if c.step.Stage == tune.Find {
			e.Value, at = capacity.Value*c.batch, capacity.Value
		}
	case find.ClientLimit:
		e.Failed, limited = clientLimit, "client"
		if low > 0 && c.step.Stage == tune.Find {
			e.Value, e.Failed = low*c.batch, ""
		}
	case find.NoneHolds:
		e.Failed = cmp.Or(c.unstable(high), fmt.Sprintf("%s does not hold even at %s requests/s", capacity.Binding, number(high)))
	case find.Open:
		if low == 0 {
			e.Failed = c.unstable(high)
		}
	}
	if e.Failed == "" && c.step.Stage == tune.Find && capacity.Outcome == find.Found && !capacity.Confirmed && low == 0 {
		e.Failed = "no load was confirmed"
	}
	e.Low = low * c.batch
	if !math.IsInf(high, 1) {
		e.High = new(high * c.batch)
		e.Reached = high * c.batch * c.loads[high].kept()
	}
	e.Figures = c.figures(at)
	e.Figures.LimitedBy = limited
	if c.step.Stage == tune.Find {
		e.Run = &result.Result{Levels: append([]result.Level{}, a.Levels()...), Find: c.search.Result("rate")}
		e.Run.Workload = c.traffic.Describe(e.Run)
	}
}

// figures are those of one load.
func (c *candidate) figures(load float64) result.TuneCandidate {
	out := result.TuneCandidate{At: load, Batch: int(c.batch)}
	if c.control != nil {
		out.Instances, out.MaxBatch = c.control.shape()
	}
	seen := c.loads[load]
	if seen == nil {
		return out
	}
	lat := &seen.level.Client.Latency
	ms := func(p float64) float64 { return float64(lat.At(p)) / 1e6 }
	out.AvgMs, out.P50Ms, out.P90Ms, out.P95Ms, out.P99Ms = float64(lat.Avg)/1e6, ms(50), ms(90), ms(95), ms(99)
	out.Achieved, out.Server, out.GPU = seen.level.Client.InferPerSec, seen.server, seen.gpu
	for i := range seen.level.Parts {
		p := &seen.level.Parts[i]
		out.Models = append(out.Models, result.TuneModel{
			Model: p.Class, Rate: p.Rate, Achieved: p.Client.InferPerSec, AvgMs: float64(p.Client.Latency.Avg) / 1e6, P99Ms: float64(p.Client.Latency.At(99)) / 1e6,
		})
	}
	return out
}
