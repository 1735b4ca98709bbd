package llm

import (
	"cmp"
	"time"

	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
)

// Warmup is the phase before the measurement. What is not given is as in the measurement.
type Warmup struct {
	Requests    int           `json:"request_count,omitzero"`
	Sessions    int           `json:"num_conversations,omitzero"`
	Duration    time.Duration `json:"duration_ns,omitzero"`
	Grace       time.Duration `json:"grace_ns,omitzero"`
	Concurrency int           `json:"concurrency,omitzero"`
	Rate        float64       `json:"request_rate,omitzero"`
	Arrival     load.Arrival  `json:"arrival_pattern,omitzero"`
	Prefill     int           `json:"prefill_concurrency,omitzero"`
	Ramp        time.Duration `json:"concurrency_ramp_ns,omitzero"`
	RateRamp    time.Duration `json:"request_rate_ramp_ns,omitzero"`
}

func (o *options) warmRows() []option.Row {
	w := &o.Warm
	return option.Group("Warm-up: requests before the measurement that are in no result; the load is the level's unless given here", []option.Row{
		{Long: "warmup-request-count", Also: "num-warmup-requests", Arg: "N", Help: "number of warm-up requests", To: option.Int(&w.Requests, 0)},
		{Long: "num-warmup-sessions", Arg: "N", Help: "number of warm-up conversations", To: option.Int(&w.Sessions, 0)},
		{Long: "warmup-duration", Arg: "TIME", Help: "duration of the warm-up", To: seconds(&w.Duration)},
		{Long: "warmup-grace-period", Arg: "TIME", Default: "--benchmark-grace-period", Help: "how long to wait for warm-up requests in flight after --warmup-duration", To: endlessSeconds(&w.Grace)},
		{Long: "warmup-concurrency", Arg: "N", Help: "number of warm-up conversations at once", To: option.Int(&w.Concurrency, 1)},
		{Long: "warmup-request-rate", Arg: "RATE", Help: "warm-up requests per second", To: option.Float(&w.Rate, 0, 1e9)},
		{Long: "warmup-arrival-pattern", Arg: "NAME", Help: "distribution of the gaps between warm-up requests: constant, poisson or gamma", To: option.Parsed(&w.Arrival, load.ParseArrival).Of(string(load.Constant), string(load.Poisson), string(load.Gamma))},
		{Long: "warmup-prefill-concurrency", Arg: "N", Help: "limit of warm-up requests that wait for their first token", To: option.Int(&w.Prefill, 0)},
		{Long: "warmup-concurrency-ramp-duration", Arg: "TIME", Help: "time over which the warm-up conversations start, one after another", To: seconds(&w.Ramp)},
		{Long: "warmup-request-rate-ramp-duration", Arg: "TIME", Help: "time over which the rate rises from 0 to --warmup-request-rate", To: seconds(&w.RateRamp)},
	})
}

// check names contradictions.
func (w *Warmup) check(f *plan.Faults) {
	given := *w
	given.Requests, given.Sessions, given.Duration = 0, 0, 0
	f.When(given != Warmup{} && given == *w, "the options of a warm-up need its length: add --warmup-request-count, --num-warmup-sessions or --warmup-duration")
	f.When(w.Ramp > 0 && w.RateRamp > 0, "--warmup-concurrency-ramp-duration and --warmup-request-rate-ramp-duration exclude each other")
}

// phase is the warm-up of a level.
func (w *Warmup) phase(o *load.Options, lv load.Level) load.Warmup {
	out := load.Warmup{Shape: o.Shape, Requests: w.Requests, Sessions: w.Sessions, Duration: w.Duration, Grace: cmp.Or(w.Grace, o.Grace), Level: lv}
	out.Arrival, out.Prefill, out.Ramp = cmp.Or(w.Arrival, out.Arrival), cmp.Or(w.Prefill, out.Prefill), cmp.Or(max(w.Ramp, w.RateRamp), out.Ramp)
	if out.Arrival == load.Gamma && out.Smoothness == 0 {
		out.Smoothness = 1
	}
	switch {
	case w.Rate > 0:
		out.Level = load.Level{Mode: plan.RequestRate, Rate: w.Rate, Concurrency: w.Concurrency}
	case w.Concurrency > 0 && lv.Mode == plan.RequestRate:
		out.Level.Concurrency = w.Concurrency
	case w.Concurrency > 0:
		out.Level = load.Level{Mode: plan.Concurrency, Concurrency: w.Concurrency}
	}
	return out
}
