package llm

import (
	"errors"
	"time"

	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/plan"
)

// warmOptions are the phase before the measurement. What is not given is as in the measurement.
type warmOptions struct {
	requests, sessions int
	duration           time.Duration
	grace              time.Duration
	concurrency        int
	rate               float64
	arrival            load.Arrival
	prefill            int
	ramp, rateRamp     time.Duration
}

func addWarmUp(s *optset.Set, o *options) {
	w := &o.warm
	s.Group("Warm-up, which counts nowhere; its load is that of the level unless told otherwise")
	s.Int(&w.requests, "warmup-request-count", "N", 0, "requests before the measurement")
	s.Alias("warmup-request-count", "num-warmup-requests")
	s.Int(&w.sessions, "num-warmup-sessions", "N", 0, "conversations before the measurement")
	o.time(s, &w.duration, "warmup-duration", "time before the measurement")
	o.endless(s, &w.grace, "warmup-grace-period", "how long its requests may go on after that (--benchmark-grace-period)")
	s.Int(&w.concurrency, "warmup-concurrency", "N", 1, "conversations at once")
	s.Float(&w.rate, "warmup-request-rate", "RATE", 0, 1e9, "requests a second")
	s.Var("warmup-arrival-pattern", "NAME", "", "their spread: constant, poisson or gamma", func(v string) error {
		var err error
		w.arrival, err = load.ParseArrival(v)
		return err
	})
	s.Int(&w.prefill, "warmup-prefill-concurrency", "N", 0, "at most N requests wait for their first token at once")
	o.time(s, &w.ramp, "warmup-concurrency-ramp-duration", "start its conversations one after the other over this time")
	o.time(s, &w.rateRamp, "warmup-request-rate-ramp-duration", "rise from no requests to its rate over this time")
}

// check names the first contradiction.
func (w *warmOptions) check() error {
	bounded := w.requests > 0 || w.sessions > 0 || w.duration > 0
	other := w.concurrency > 0 || w.rate > 0 || w.arrival != "" || w.prefill > 0 || w.ramp > 0 || w.rateRamp > 0 || w.grace > 0
	switch {
	case other && !bounded:
		return errors.New("the options of a warm-up need its length: add --warmup-request-count, --num-warmup-sessions or --warmup-duration")
	case w.ramp > 0 && w.rateRamp > 0:
		return errors.New("--warmup-concurrency-ramp-duration and --warmup-request-rate-ramp-duration exclude each other")
	}
	return nil
}

// phase is the warm-up of a level.
func (w *warmOptions) phase(o *load.Options, lv load.Level) load.Warmup {
	out := load.Warmup{Shape: o.Shape, Requests: w.requests, Sessions: w.sessions, Duration: w.duration, Grace: o.Grace, Level: lv}
	if w.grace > 0 {
		out.Grace = w.grace
	}
	if w.arrival != "" {
		out.Arrival = w.arrival
	}
	if out.Arrival == load.Gamma && out.Smoothness == 0 {
		out.Smoothness = 1
	}
	if w.prefill > 0 {
		out.Prefill = w.prefill
	}
	if d := max(w.ramp, w.rateRamp); d > 0 {
		out.Ramp = d
	}
	switch {
	case w.rate > 0:
		out.Level = load.Level{Mode: plan.RequestRate, Rate: w.rate, Concurrency: w.concurrency}
	case w.concurrency > 0 && lv.Mode == plan.RequestRate:
		out.Level.Concurrency = w.concurrency
	case w.concurrency > 0:
		out.Level = load.Level{Mode: plan.Concurrency, Concurrency: w.concurrency}
	}
	return out
}
