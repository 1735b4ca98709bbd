package calibration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

func TestACalibrationVisitsThePlansLoadsInShortWindows(t *testing.T) {
	f := func(load, want plan.Load, interval time.Duration) {
		t.Helper()
		p := &plan.Plan{Load: load, Measure: plan.Measure{Interval: 5 * time.Second, MaxTrials: 10, RequestCount: 1000, LatencyLimit: time.Second}}
		shorten(p)
		if d := cmp.Diff(want, p.Load); d != "" {
			t.Error(d)
		}
		if m := p.Measure; m.Interval != interval || m.MaxTrials != 3 || m.RequestCount != 0 || m.LatencyLimit != 0 {
			t.Errorf("%+v", m)
		}
	}
	closed := func(s plan.Search, start, end, step int) plan.Load {
		return plan.Load{Mode: plan.Concurrency, Search: s, Concurrency: plan.IntRange{Start: start, End: end, Step: step}}
	}
	open := func(start, end, step float64) plan.Load {
		return plan.Load{Mode: plan.RequestRate, Search: plan.Linear, Rate: plan.FloatRange{Start: start, End: end, Step: step}}
	}
	f(closed(plan.Linear, 1, 8, 1), closed(plan.Linear, 1, 8, 1), floorWindow)
	f(closed(plan.Binary, 1, 1024, 1), closed(plan.Linear, 1, 1024, 16), floorWindow)
	f(closed(plan.Linear, 4, 0, 1), closed(plan.Linear, 4, 64, 1), floorWindow)
	f(open(1000, 1000, 1), open(1000, 1000, 1), floorWindow)
	f(open(20, 40, 10), open(20, 40, 10), 1500*time.Millisecond)
	f(open(1, 1, 1), open(1, 1, 1), floorLongest)
	staged := open(1, 1, 1)
	staged.Search, staged.Stages = plan.Single, []pace.Stage{{From: 500, To: 1500, Time: time.Minute}}
	f(staged, open(1000, 1000, 1), floorWindow) // at the mean rate
}

func TestALoadWithAnEndOfItsOwnIsCalibratedInOneWindow(t *testing.T) {
	f := func(mode plan.Mode, count, want, wantWarmup int) {
		t.Helper()
		p := &plan.Plan{Load: plan.Load{Mode: mode}, Measure: plan.Measure{Interval: 5 * time.Second, RequestCount: count, WarmupCount: 2, LatencyLimit: time.Second}}
		shorten(p)
		if m := p.Measure; m.RequestCount != want || m.WarmupCount != wantWarmup || m.Window != plan.CountWindows || m.LatencyLimit != 0 || !whole(&p.Load) {
			t.Errorf("%s: %+v", mode, m)
		}
	}
	f(plan.FixedSchedule, 7, 7, 2)
	f(plan.FixedSchedule, 1_000_000, floorMost, 2)
	f(plan.CustomIntervals, 0, floorMost, 0)
	f(plan.SessionConcurrency, 0, 0, 2)
	f(plan.PeriodicConcurrency, 0, 0, 2)
}

func TestEachLoadHasItsHolds(t *testing.T) {
	f := func(load plan.Load, want ...time.Duration) {
		t.Helper()
		if d := cmp.Diff(want, holds(&load)); d != "" {
			t.Errorf("%s: %s", load.Mode, d)
		}
	}
	const two, twenty = 2 * time.Millisecond, 20 * time.Millisecond
	f(plan.Load{Mode: plan.Concurrency, Concurrency: plan.IntRange{Start: 1}}, 0, two, twenty)
	f(plan.Load{Mode: plan.Concurrency, Concurrency: plan.IntRange{Start: 10}}, 0, two, twenty, slowHold)
	f(plan.Load{Mode: plan.SessionConcurrency, Sessions: 2}, 0, two, twenty)
	f(plan.Load{Mode: plan.SessionConcurrency, Sessions: 64}, 0, two, twenty, slowHold)
	for _, m := range []plan.Mode{plan.RequestRate, plan.CustomIntervals, plan.FixedSchedule, plan.PeriodicConcurrency} {
		f(plan.Load{Mode: m}, twenty)
	}
}

func TestOnlyATritonInProcessCannotBeCalibrated(t *testing.T) {
	for _, k := range []plan.Kind{plan.Triton, plan.OpenAI, plan.TorchServe, plan.TFServing, plan.DynamicGRPC} {
		if err := Possible(&plan.Plan{Target: plan.Target{Kind: k}}); err != nil {
			t.Errorf("%s: %v", k, err)
		}
	}
	for _, asked := range []bool{false, true} {
		s := &traffic.Traffic{Plan: &plan.Plan{Target: plan.Target{Kind: plan.TritonCAPI}, Measure: plan.Measure{Calibrate: asked}}}
		lv := &result.Level{}
		if Stated(s)(lv); lv.Health.ErrorUnknown == "" || lv.Health.Error != nil {
			t.Errorf("with --calibrate %t the report does not say why no error is stated: %+v", asked, lv.Health)
		}
	}
}
