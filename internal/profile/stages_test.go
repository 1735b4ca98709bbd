package profile_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
)

// Stages are one level with every request of the schedule in it, each sent at its due time.
func TestStagesAreOneLevel(t *testing.T) {
	p := basePlan()
	list, err := pace.ParseStages("20:1s,20-100:2s,500:100ms")
	if err != nil {
		t.Fatal(err)
	}
	p.Load.Mode, p.Load.Search, p.Load.Stages = plan.RequestRate, plan.Single, list
	x := &sends{}
	svc := pinned(5 * time.Millisecond)
	ready := 0
	res, _, err := runPlan(t, p, svc, func(r *profile.Runner) {
		r.Async, r.Exporter = true, x
		r.Ready = func(context.Context) error { ready++; return nil }
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = 20 + 120 + 50
	lv := res.Levels[0]
	if len(res.Levels) != 1 || lv.Client.Requests != want || svc.Sent() != want || !lv.Stable || len(lv.Windows) != 1 || ready != 1 {
		t.Fatalf("%d levels, %d requests, %d sent, stable %v, %d windows, ready %d times", len(res.Levels), lv.Client.Requests, svc.Sent(), lv.Stable, len(lv.Windows), ready)
	}
	slices.Sort(x.at) // records come slot by slot
	due := pace.Stages(list, nil)
	first, _ := due.Next()
	for i := 1; i < want; i++ {
		at, _ := due.Next()
		if sent := time.Duration(x.at[i] - x.at[0]); sent != at-first {
			t.Fatalf("request %d was sent %s after the first, the schedule says %s", i+1, sent, at-first)
		}
	}
	if rate := pace.StagesRate(list); lv.Rate != rate || res.Verdict.State != "valid" {
		t.Errorf("rate %g, want %g; %v", lv.Rate, rate, res.Verdict)
	}
}

// A level of a given duration is one window of that length.
func TestDurationIsOneWindow(t *testing.T) {
	p := basePlan()
	p.Load.Concurrency = plan.IntRange{Start: 2, End: 2, Step: 1}
	p.Measure.Interval, p.Measure.OneWindow, p.Measure.MaxTrials = 3*time.Second, true, 1
	res, _, err := runPlan(t, p, pinned(10*time.Millisecond), func(*profile.Runner) {})
	if err != nil {
		t.Fatal(err)
	}
	lv := res.Levels[0]
	if !lv.Stable || len(lv.Windows) != 1 || time.Duration(lv.Client.DurationNs) != 3*time.Second || lv.Client.Requests < 590 {
		t.Errorf("stable %v, %d windows of %s, %d requests", lv.Stable, len(lv.Windows), time.Duration(lv.Client.DurationNs), lv.Client.Requests)
	}
}
