package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
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

// rateSeries reads AIPerf's file of rates over time. Before the first point and after the last the rate stays what it
// is there.
func rateSeries(path string) ([]load.Stage, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	type point struct {
		Time *float64 `json:"time_s"`
		Rate *float64 `json:"qps"`
	}
	var doc struct {
		Points []point `json:"points"`
	}
	if json.Unmarshal(text, &doc.Points) != nil {
		if err := json.Unmarshal(text, &doc); err != nil {
			return nil, fmt.Errorf(`%s is no list of {"time_s":0,"qps":5}: %w`, path, err)
		}
	}
	if len(doc.Points) < 2 {
		return nil, fmt.Errorf(`%s has %d points, a series at least two: [{"time_s":0,"qps":5},{"time_s":60,"qps":50}]`, path, len(doc.Points))
	}
	var out []load.Stage
	at, rate := 0.0, 0.0
	for i, p := range doc.Points {
		switch {
		case p.Time == nil || p.Rate == nil || *p.Time < 0 || *p.Time > 1e9 || *p.Rate <= 0 || *p.Rate > 1e9:
			return nil, fmt.Errorf("%s: point %d needs a time_s of at least 0 and a qps above 0", path, i+1)
		case i > 0 && *p.Time <= at:
			return nil, fmt.Errorf("%s: point %d is not later than the one before", path, i+1)
		case i == 0:
			rate = *p.Rate
		}
		if d := time.Duration((*p.Time - at) * float64(time.Second)); d > 0 {
			out = append(out, load.Stage{From: rate, To: *p.Rate, Time: d})
		}
		at, rate = *p.Time, *p.Rate
	}
	return append(out, load.Stage{From: rate, To: rate, Time: load.Forever}), nil
}
