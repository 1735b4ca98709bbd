package profile

import (
	"context"
	"iter"
	"slices"
	"strconv"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// search visits the levels that the plan asks for.
func (r *Runner) search(ctx context.Context) error {
	load := &r.Plan.Load
	switch {
	case load.Mode == plan.PeriodicConcurrency:
		return r.periodic(ctx)
	case load.Mode == plan.FixedSchedule:
		return r.visit(ctx, result.Level{Mode: load.Mode}).fail()
	case load.Mode == plan.SessionConcurrency:
		return r.visit(ctx, result.Level{Mode: load.Mode, Concurrency: load.Sessions}).fail()
	case load.Mode == plan.CustomIntervals:
		o := r.visit(ctx, result.Level{Mode: load.Mode, Rate: float64(pace.MeanRate(r.gaps))})
		if r.Plan.Policies.AcceptUnstable {
			return o.err
		}
		return o.fail()
	case len(load.Stages) > 0:
		return r.visit(ctx, result.Level{Mode: load.Mode, Rate: pace.StagesRate(load.Stages), Stages: load.Stages}).fail()
	case len(load.Levels) > 0:
		return walk(slices.Values(load.Levels), false, r.listed(ctx))
	case load.Mode == plan.RequestRate && load.Search == plan.Binary:
		return binary(load.Rate.Start, load.Rate.End, load.Rate.Step, half, r.rate(ctx))
	case load.Mode == plan.RequestRate:
		next := addDecimal
		if r.Plan.Policies.BinarySteps {
			next = add[float64]
		}
		return linear(load.Rate.Start, load.Rate.End, load.Rate.Step, next, r.rate(ctx))
	case load.Search == plan.Binary:
		c := load.Concurrency
		return binary(c.Start, c.End, c.Step, halfInt, r.concurrency(ctx))
	default:
		c := load.Concurrency
		return linear(c.Start, c.End, c.Step, add[int], r.concurrency(ctx))
	}
}

// Values are the concurrencies or rates of the levels of a load, if they are known before the run; nil if not, and where levels
// have neither.
func Values(load *plan.Load) []float64 {
	var out []float64
	list := func(v float64) outcome {
		out = append(out, v)
		return outcome{met: true, stable: true}
	}
	const most = 10_000 // a longer search is not listed
	switch {
	case len(load.Levels) > 0:
		return load.Levels
	case load.Search == plan.Binary:
		return nil
	case load.Mode == plan.Concurrency && load.Concurrency.End > 0 && load.Concurrency.End/max(1, load.Concurrency.Step) < most:
		c := load.Concurrency
		_ = linear(c.Start, c.End, c.Step, add[int], func(n int) outcome { return list(float64(n)) }) // list never fails
	case load.Mode == plan.RequestRate && load.Rate.End > 0 && load.Rate.End/max(load.Rate.Step, 1e-9) < most:
		_ = linear(load.Rate.Start, load.Rate.End, load.Rate.Step, addDecimal, list)
	}
	return out
}

func (r *Runner) concurrency(ctx context.Context) func(int) outcome {
	return func(n int) outcome { return r.visit(ctx, result.Level{Mode: plan.Concurrency, Concurrency: n}) }
}

func (r *Runner) rate(ctx context.Context) func(float64) outcome {
	return func(v float64) outcome { return r.visit(ctx, result.Level{Mode: plan.RequestRate, Rate: v}) }
}

// listed visits a level of a list: a concurrency or a rate.
func (r *Runner) listed(ctx context.Context) func(float64) outcome {
	if r.Plan.Load.Mode == plan.RequestRate {
		return r.rate(ctx)
	}
	visit := r.concurrency(ctx)
	return func(v float64) outcome { return visit(int(v)) }
}

// outcome is what a search needs to know of a visited level.
type outcome struct {
	met    bool // stable, and within the latency limit
	stable bool
	goOn   bool // an unstable level need not end the search
	err    error
}

// fail is the error of a single level: not to be stable is one.
func (o outcome) fail() error {
	if o.err == nil && !o.stable {
		return ErrUnstable
	}
	return o.err
}

type number interface{ int | float64 }

func add[T number](v, step T) T { return v + step }

// addDecimal adds numbers as they are written: 20.2 and 0.1 make 20.3, not 20.300000000000001.
func addDecimal(v, step float64) float64 { return decimal(v + step) }

// decimal is the number with twelve digits that is nearest to v.
func decimal(v float64) float64 {
	const digits = 12
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return v
	}
	return short
}

// linear visits start, start+step, … up to end, or without bound when end is 0, as long as levels meet the threshold.
func linear[T number](start, end, step T, next func(v, step T) T, visit func(T) outcome) error {
	return walk(func(yield func(T) bool) {
		for v := start; yield(v); {
			after := next(v, step)
			if after <= v || end != 0 && after > end {
				return
			}
			v = after
		}
	}, end == 0, visit)
}

// walk visits levels one after another, until one does not meet the threshold and must end the search. It fails when the first level is
// unstable, or any that did not end the search.
func walk[T number](levels iter.Seq[T], endless bool, visit func(T) outcome) error {
	unstable, first := false, true
	for v := range levels {
		o := visit(v)
		if o.err != nil {
			return o.err
		}
		if !o.stable && (o.goOn || first) {
			unstable = true
		}
		if first = false; !o.met && (!o.goOn || endless) {
			break
		}
	}
	if unstable {
		return ErrUnstable
	}
	return nil
}

func half(lo, hi float64) float64 { return decimal((lo + hi) / 2) }
func halfInt(lo, hi int) int      { return (lo + hi) / 2 }

// finest is into how many parts a binary search without a step divides its range at most.
const finest = 1024

// binary looks for the highest level that meets the threshold: it is above start and below end, and halved
// until the interval is no wider than step. A step of 0 is the range divided by finest. A search also ends when no
// level is left between the two.
func binary[T number](start, end, step T, mid func(lo, hi T) T, visit func(T) outcome) error {
	if o := visit(start); o.err != nil || !o.met {
		return o.err
	}
	if o := visit(end); o.err != nil || o.met {
		return o.err
	}
	if step <= 0 {
		step = (end - start) / finest
	}
	for lo, hi := start, end; hi-lo > step; {
		m := mid(lo, hi)
		if m <= lo || m >= hi {
			return nil
		}
		o := visit(m)
		if o.err != nil {
			return o.err
		}
		if o.met {
			lo = m
		} else {
			hi = m
		}
	}
	return nil
}
