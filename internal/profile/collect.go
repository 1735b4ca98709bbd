package profile

import (
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// Collect makes the result of a run that ended early: the known levels, and one more with the records that were sent for the level
// in progress, if there are any. Nothing is sent.
func (r *Runner) Collect(leftover func(each func(*record.Record)) error) (*result.Result, error) {
	r.res = &result.Result{Schema: result.Schema, Plan: r.Plan, Model: r.Model, Async: r.Async, StartUnixNs: clock.Wall(clock.Now()), Interrupted: true}
	for _, d := range r.Known {
		lv := d.Level
		r.res.Levels, r.limits = append(r.res.Levels, lv), append(r.limits, d.Limits)
		r.Observer.LevelBegins(&lv, false)
		r.Observer.LevelEnds(&lv)
	}
	r.Known = nil
	lv := result.Level{Mode: r.Plan.Load.Mode, Unfinished: true, Reason: "the coordinator ended during this level"}
	win := measure.New(measure.Config{Setup: r.setup()})
	var from, until int64 // below 0 before the start of this process
	var failed error
	first := true
	err := leftover(func(rec *record.Record) {
		if first {
			from, until, first = rec.Sent, rec.End, false
		}
		from, until = min(from, rec.Sent), max(until, rec.End)
		win.Add(rec)
		if r.Tap != nil && failed == nil {
			failed = r.Tap(&lv, 0, rec)
		}
	})
	if err == nil {
		err = failed
	}
	if err == nil && win.Ended() > 0 {
		win.Begin(from, &measure.State{})
		win.End(until, &measure.State{}, nil)
		lv, _ = win.Level(lv, &measure.Asked{})
		lv.Health, lv.ClientLimited, lv.Histogram = result.Health{}, false, win.Histogram() // how the workers did is not known
		if n := len(r.res.Levels); lv.Mode == plan.Concurrency || lv.Mode == plan.RequestRate {
			nameLevel(&lv, &r.Plan.Load, n)
		}
		r.res.Levels, r.limits = append(r.res.Levels, lv), append(r.limits, nil)
		r.Observer.LevelBegins(&lv, false)
		r.Observer.LevelEnds(&lv)
	}
	r.res.EndUnixNs = clock.Wall(clock.Now())
	r.res.Verdict = measure.Conclude(measure.Run{Levels: r.res.Levels, Limits: r.limits, MaxErrorRate: r.Plan.Measure.ValidErrorRate, Interrupted: true})
	r.res.Environment = Environment()
	return r.res, err
}

// nameLevel gives the level after n others of a linear search its concurrency or rate, if they are known before the run.
func nameLevel(lv *result.Level, load *plan.Load, n int) {
	values := Values(load)
	if n >= len(values) {
		return
	}
	if lv.Mode == plan.Concurrency {
		lv.Concurrency = int(values[n])
	} else {
		lv.Rate = values[n]
	}
}
