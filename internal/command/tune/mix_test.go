package tune

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/command/search"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
)

// scripted is the traffic of one model: every response takes as long as latency says, and broken ends the load at its second look.
type scripted struct {
	search.Traffic
	latency time.Duration
	broken  error
	rate    float64 // of the last load
}

func (s *scripted) Run(_ context.Context, lv result.Level, _ time.Duration, first measure.Look, watch measure.Watch) error {
	s.rate = lv.Rate
	next, more := first, true
	for look := 1; more; look++ {
		if s.broken != nil && look == 2 {
			return s.broken
		}
		now := measure.Sight{Elapsed: next.At, Requests: int(lv.Rate * next.At.Seconds()), Backlog: 1, Median: s.latency}
		now.Level = func(float64) (*result.Level, []result.Reason) {
			out := lv
			out.Client.Requests, out.Client.InferPerSec = uint64(now.Requests), lv.Rate
			out.Client.Latency = result.Metric{Unit: result.Nanoseconds, Avg: float64(s.latency), Quantiles: []result.Quantile{{P: 99, V: float64(s.latency)}}}
			out.Health.AskedRate, out.Health.AchievedRate = lv.Rate, lv.Rate
			out.Histogram = &result.Histogram{}
			return &out, nil
		}
		next, more = watch(now)
	}
	return nil
}

func mixed(a, b *scripted) *mix {
	return &mix{Traffic: a, members: []member{{a, "a", 0.75}, {b, "b", 0.25}}}
}

// Each model gets its share of a load, and one look sees all of them: sums, the latency of the slowest, and a part for each.
func TestTogether(t *testing.T) {
	a, b := &scripted{latency: 10 * time.Millisecond}, &scripted{latency: 30 * time.Millisecond}
	var looks []measure.Sight
	var lv *result.Level
	err := mixed(a, b).Run(t.Context(), result.Level{Rate: 100}, 0, measure.Look{At: time.Second}, func(now measure.Sight) (measure.Look, bool) {
		lv, _ = now.Level(0)
		now.Level = nil
		looks = append(looks, now)
		return measure.Look{At: now.Elapsed + time.Second}, len(looks) < 2
	})
	if err != nil || a.rate != 75 || b.rate != 25 {
		t.Fatalf("%v, rates %g and %g", err, a.rate, b.rate)
	}
	want := []measure.Sight{
		{Elapsed: time.Second, Requests: 100, Backlog: 2, Median: 30 * time.Millisecond},
		{Elapsed: 2 * time.Second, Requests: 200, Backlog: 2, Median: 30 * time.Millisecond},
	}
	if diff := cmp.Diff(want, looks); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
	c := &lv.Client
	if lv.Rate != 100 || c.Requests != 200 || c.InferPerSec != 100 || c.Latency.At(99) != float64(30*time.Millisecond) || lv.Health.AchievedRate != 100 {
		t.Errorf("the level of all: %+v", lv)
	}
	if len(lv.Parts) != 2 || lv.Part("a").Client.Requests != 150 || lv.Part("b").Rate != 25 || lv.Part("a").Histogram != nil {
		t.Errorf("the parts: %+v", lv.Parts)
	}
}

// An objective holds for each model: one that is too slow fails it, and a rule for one model leaves the others alone.
func TestObjectivesOfEachModel(t *testing.T) {
	o := &options{slo: []string{"p99<20ms", "b: avg<50ms"}}
	tiers, err := o.objectives([]share{{name: "a"}, {name: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	level := func(latency time.Duration, class string) result.Level {
		lv := result.Level{Class: class}
		lv.Client.Requests = 1000
		lv.Client.Latency = result.Metric{Unit: result.Nanoseconds, Count: 1000, Avg: float64(latency), Quantiles: []result.Quantile{{P: 99, V: float64(latency)}}}
		return lv
	}
	rules := tiers[0].Objectives
	var got []string
	for i, r := range find.Readings(addUp([]result.Level{level(10*time.Millisecond, "a"), level(30*time.Millisecond, "b")}), rules) {
		word := " fails"
		if rules[i].Holds(r.Value) {
			word = " holds"
		}
		got = append(got, rules[i].Text+word)
	}
	if diff := cmp.Diff([]string{"a: p99<20ms holds", "b: p99<20ms fails", "b: avg<50ms holds"}, got); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
}

// A model whose load ends by itself ends that of the others, and the error names the model.
func TestAModelThatEnds(t *testing.T) {
	looks := 0
	err := mixed(&scripted{}, &scripted{broken: errors.New("no connection")}).Run(t.Context(), result.Level{Rate: 10}, 0, measure.Look{At: time.Second},
		func(now measure.Sight) (measure.Look, bool) {
			looks++
			return measure.Look{At: now.Elapsed + time.Second}, true
		})
	if err == nil || !strings.Contains(err.Error(), "b: no connection") || looks != 1 {
		t.Errorf("%v after %d looks", err, looks)
	}
}
