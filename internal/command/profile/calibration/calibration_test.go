package calibration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
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
	schedule := &plan.Plan{Load: plan.Load{Mode: plan.FixedSchedule}, Measure: plan.Measure{Interval: 5 * time.Second, RequestCount: 7}}
	if shorten(schedule); schedule.Measure.RequestCount != 7 {
		t.Error("a schedule lost its end")
	}
}
