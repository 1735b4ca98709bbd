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
	s.Group("Warm-up: requests before the measurement that are in no result; the load is the level's unless given here")
	s.Int(&w.requests, "warmup-request-count", "N", 0, "number of warm-up requests")
	s.Alias("warmup-request-count", "num-warmup-requests")
	s.Int(&w.sessions, "num-warmup-sessions", "N", 0, "number of warm-up conversations")
	o.time(s, &w.duration, "warmup-duration", "duration of the warm-up")
	o.endless(s, &w.grace, "warmup-grace-period", "how long to wait for warm-up requests in flight after --warmup-duration (--benchmark-grace-period)")
	s.Int(&w.concurrency, "warmup-concurrency", "N", 1, "number of warm-up conversations at once")
	s.Float(&w.rate, "warmup-request-rate", "RATE", 0, 1e9, "warm-up requests per second")
	s.Var("warmup-arrival-pattern", "NAME", "", "distribution of the gaps between warm-up requests: constant, poisson or gamma", func(v string) error {
		var err error
		w.arrival, err = load.ParseArrival(v)
		return err
	})
	s.Int(&w.prefill, "warmup-prefill-concurrency", "N", 0, "limit of warm-up requests that wait for their first token")
	o.time(s, &w.ramp, "warmup-concurrency-ramp-duration", "time over which the warm-up conversations start, one after another")
	o.time(s, &w.rateRamp, "warmup-request-rate-ramp-duration", "time over which the rate rises from 0 to --warmup-request-rate")
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
