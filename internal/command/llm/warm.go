package llm

import (
	"errors"
	"time"

	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/option"
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

func (o *options) warmRows() []option.Row {
	w := &o.warm
	return option.Group("Warm-up: requests before the measurement that are in no result; the load is the level's unless given here", []option.Row{
		{Long: "warmup-request-count", Also: "num-warmup-requests", Arg: "N", Help: "number of warm-up requests", To: option.Int(&w.requests, 0)},
		{Long: "num-warmup-sessions", Arg: "N", Help: "number of warm-up conversations", To: option.Int(&w.sessions, 0)},
		{Long: "warmup-duration", Arg: "SECONDS", Help: "duration of the warm-up", To: seconds(&w.duration)},
		{Long: "warmup-grace-period", Arg: "SECONDS", Default: "--benchmark-grace-period", Help: "how long to wait for warm-up requests in flight after --warmup-duration", To: endlessSeconds(&w.grace)},
		{Long: "warmup-concurrency", Arg: "N", Help: "number of warm-up conversations at once", To: option.Int(&w.concurrency, 1)},
		{Long: "warmup-request-rate", Arg: "RATE", Help: "warm-up requests per second", To: option.Float(&w.rate, 0, 1e9)},
		{Long: "warmup-arrival-pattern", Arg: "NAME", Help: "distribution of the gaps between warm-up requests: constant, poisson or gamma", To: arrival(&w.arrival)},
		{Long: "warmup-prefill-concurrency", Arg: "N", Help: "limit of warm-up requests that wait for their first token", To: option.Int(&w.prefill, 0)},
		{Long: "warmup-concurrency-ramp-duration", Arg: "SECONDS", Help: "time over which the warm-up conversations start, one after another", To: seconds(&w.ramp)},
		{Long: "warmup-request-rate-ramp-duration", Arg: "SECONDS", Help: "time over which the rate rises from 0 to --warmup-request-rate", To: seconds(&w.rateRamp)},
	})
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
