package profile

import (
	"context"
	"math/rand/v2"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/segment"
)

// Open connects to the service: the Load makes this process's segment of each order and passes the records to collect. hard cuts the
// requests in flight.
func (r *Runner) Open(hard context.Context, collect run.Collect) (run.Load, error) {
	if err := r.readGaps(hard); err != nil {
		return nil, err
	}
	return r.connect(hard, collect)
}

func (r *Runner) connect(hard context.Context, collect run.Collect) (run.Load, error) {
	return run.OpenEngine(hard, engine.Config{
		Service: r.Service, Source: r.Source, Collect: collect, Keep: r.Exporter != nil || r.Plan.Load.Mode == plan.SessionConcurrency,
		Timeout: r.Plan.Target.Timeout, Patience: r.Patience, StopOnFailure: r.Plan.Measure.StopOnFailure,
		ThinkTime: r.Plan.Load.ThinkTime, Seed: r.Plan.Load.Seed, Segment: r.Plan.Segment,
	}, r.loop)
}

// deal says which requests of a level this process sends. Requests of a closed loop go with the slots.
func (r *Runner) deal(lv *result.Level) segment.Deal { return r.dealOf(lv, r.Plan.Segment) }

// dealOf says which requests of a level a segment sends.
func (r *Runner) dealOf(lv *result.Level, part segment.Segment) segment.Deal {
	if lv.Mode == plan.Concurrency || lv.Mode == plan.SessionConcurrency {
		return part.Over(lv.Concurrency)
	}
	p := *r.Plan
	p.Segment = part
	return p.Arrivals(r.Model.Sequential(), r.Async)
}

// share is how many requests of an order this process sends, 0 if the order gives no number, and whether it sends none.
func (r *Runner) share(o *run.Order) (n int, idle bool) {
	deal := r.deal(o.Level)
	n = deal.Count(o.Limit)
	return n, deal.Idle() || o.Limit > 0 && n == 0
}

// loop makes the loop of this process's part of an order. It is nil where this process has nothing to send in an open loop.
func (r *Runner) loop(o *run.Order) engine.Loop {
	n, idle := r.share(o)
	switch o.Level.Mode {
	case plan.Concurrency:
		return r.closedLoop(o, n, idle)
	case plan.SessionConcurrency:
		return &engine.Closed{Concurrency: r.deal(o.Level).Own(), Whole: o.Level.Concurrency}
	case plan.PeriodicConcurrency:
		p := &r.Plan.Load.Periodic
		return &engine.Periodic{Start: p.Start, End: p.End, Step: p.Step, Period: r.Plan.Load.Period}
	case plan.RequestRate, plan.CustomIntervals, plan.FixedSchedule:
	}
	if idle {
		return nil
	}
	return r.openLoop(o, n)
}

// closedLoop ends after limit requests. Where the plan asks for it, the loop is split over threads: one thread carries one synchronous
// request, or many asynchronous ones, on one stream where there are streams.
func (r *Runner) closedLoop(o *run.Order, limit int, idle bool) *engine.Closed {
	concurrency, threads := o.Level.Concurrency, r.Plan.Load.MaxThreads
	c := &engine.Closed{Concurrency: r.Plan.Segment.Share(concurrency), Whole: concurrency, Limit: limit}
	if idle {
		c.Concurrency = 0
	}
	switch {
	case !r.Plan.Policies.PerThread:
	case !r.Async:
		c.LimitParts = concurrency
	default:
		c.LimitParts = threads
		if r.streamed() && !r.Model.Sequential() {
			c.Tracks = threads
		}
	}
	return c
}

// The slots of an open loop with asynchronous calls: few at first, more as they are needed.
const (
	firstSlots = 16
	mostSlots  = 1 << 16
)

// openLoop ends after limit requests.
func (r *Runner) openLoop(o *run.Order, limit int) *engine.Paced {
	deal := r.deal(o.Level)
	part := deal.Segment
	threads := max(1, part.Share(r.Plan.Load.MaxThreads))
	if o.Level.Mode == plan.FixedSchedule {
		threads = min(threads, limit) // each time belongs to a step; threads take them in turn
	}
	// Arrivals go to the sources in turn: source i of this process has every arrival that source i·Lanes + Index of threads·Lanes
	// would have.
	load := &engine.Paced{Schedule: r.schedule(o), Sources: threads, WholeSources: threads * deal.Lanes, Limit: limit, Seed: part.Seed(o.Seed)}
	if r.Model.Sequential() {
		load.Sources, load.WholeSources, load.Order = deal.Own(), deal.Lanes, r.turns()
		threads = min(threads, load.Sources)
	}
	load.Slots, load.Cap, load.Workers = threads, threads, threads
	if r.Async {
		load.Slots, load.Cap = max(threads, firstSlots), mostSlots
		load.Ordered = r.streamed()
	}
	return load
}

// asked is what this process is asked for by an order. With pauses between the requests of a session, or between the steps of a
// periodic load, there is no number in flight to hold it to.
func (r *Runner) asked(o *run.Order) (a measure.Asked) {
	switch loop := r.loop(o).(type) {
	case *engine.Closed:
		if o.Level.Mode == plan.Concurrency {
			a.Concurrency = loop.Concurrency
		}
	case *engine.Paced:
		if a.Serial = loop.Order == engine.Serial; !r.Async {
			a.Cap = loop.Cap
		}
	}
	if o.Level.Mode.Scheduled() {
		a.Rate = r.deal(o.Level).Rate(o.Level.Rate)
	}
	return a
}

// turns is how sequences take turns. Several requests of a sequence may be in flight where a stream keeps their order or the
// plan allows it without one, unless the user asks for serial sequences or calls are synchronous.
func (r *Runner) turns() engine.Order {
	switch {
	case r.Plan.Input.SerialSequences, r.Async && !r.Plan.Policies.OverlapSequences && !r.streamed():
		return engine.Serial
	case r.Async:
		return engine.Random
	default:
		return engine.Blocking
	}
}

// streamed tells whether requests go over streams that outlive them.
func (r *Runner) streamed() bool {
	return r.Plan.Target.Streaming && r.SharedStreams
}

// schedule is the part of an order's schedule that this process has.
func (r *Runner) schedule(o *run.Order) pace.Schedule {
	return pace.Part(r.wholeSchedule(o), r.deal(o.Level))
}

func (r *Runner) wholeSchedule(o *run.Order) pace.Schedule {
	load := &r.Plan.Load
	switch {
	case o.Level.Mode == plan.FixedSchedule:
		warm := min(r.Plan.Measure.WarmupCount, len(r.Times))
		times := r.Times[warm:]
		if o.Warm {
			times = r.Times[:warm]
		}
		return pace.Fixed(times[:min(o.Limit, len(times))])
	case o.Level.Mode == plan.CustomIntervals:
		return pace.Intervals(r.gaps)
	case len(load.Stages) > 0 && load.Distribution == plan.Poisson:
		return pace.Stages(load.Stages, rand.New(rand.NewPCG(o.Seed, 0)).ExpFloat64)
	case len(load.Stages) > 0:
		return pace.Stages(load.Stages, nil)
	case load.Distribution == plan.Poisson:
		return pace.Poisson(o.Level.Rate, o.Seed)
	default:
		return pace.Constant(o.Level.Rate)
	}
}
