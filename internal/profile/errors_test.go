package profile_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit"
)

// --max-error-rate is the share of a level. A window full of failures does not end a level that is within the rate.
func TestMaxErrorRateIsThatOfTheLevel(t *testing.T) {
	p := basePlan()
	p.Measure.StopOnFailure, p.Measure.MaxErrorRate = false, 0.2
	p.Measure.Window, p.Measure.MinRequests, p.Measure.MaxTrials = plan.CountWindows, 1000, 2
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n > 1600 && n < 1900 && n%100 != 0 { // runs of less than a hundred, and more than a fifth of the second window so far
			return time.Millisecond, errors.New("boom")
		}
		return 100 * time.Microsecond, nil
	}}
	res, _, err := runPlan(t, p, svc, nil)
	if len(res.Levels) != 1 || len(res.Levels[0].Windows) != 2 {
		t.Fatalf("the level has %+v, %v", res.Levels, err)
	}
	if c := res.Levels[0].Client; c.Requests < 2000 || c.Failed < 290 {
		t.Errorf("%d requests, %d failed: %v", c.Requests, c.Failed, err)
	}
}

// The failures of a level are those of its windows, without those of the warm-up.
func TestFailuresOfTheWarmupAreNotTheLevels(t *testing.T) {
	p := basePlan()
	p.Measure.StopOnFailure = false
	p.Measure.WarmupCount, p.Measure.RequestCount, p.Measure.Window = 30, 10, plan.CountWindows
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n < 20 || n == 35 {
			return 0, errors.New("boom")
		}
		return 0, nil
	}}
	res, _, err := runPlan(t, p, svc, nil)
	if err != nil {
		t.Fatal(err)
	}
	lv := res.Levels[0]
	if lv.Client.Failed != 1 || len(lv.Failures) != 1 || lv.Failures[0].Count != 1 {
		t.Errorf("the client counts %d, the level %+v", lv.Client.Failed, lv.Failures)
	}
}

// slowObserver takes its time to show progress, so that everything has happened when the window looks again.
type slowObserver struct{ *journal }

func (slowObserver) Progress(profile.Progress) { time.Sleep(10 * time.Millisecond) }

// A failure that ends a load of a fixed number of requests is told, although the load has ended too. Both are seen at once,
// so the run is repeated.
func TestAFailureEndsAFixedNumberOfRequests(t *testing.T) {
	for range 50 {
		p := perfPlan()
		p.Measure.RequestCount, p.Measure.Window = 5, plan.CountWindows
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, errors.New("boom") }}
		_, _, err := runPlan(t, p, svc, func(r *profile.Runner) { r.Observer = slowObserver{&journal{}} })
		if load := new(*profile.LoadError); !errors.As(err, load) {
			t.Fatalf("got %v, want the failed request", err)
		}
	}
}

// A server that accepts requests and never answers ends a run that has no other end, and the error says what it waited for.
func TestAServerThatNeverAnswersEndsTheRun(t *testing.T) {
	f := func(name string, p *plan.Plan, edit func(*plan.Plan)) {
		t.Run(name, func(t *testing.T) {
			p.Measure.StopOnFailure = p.Policies.BareReport
			p.Measure.Window, p.Measure.MinRequests = plan.CountWindows, 1000
			p.Target.Timeout = 3 * time.Second
			if p.Measure.StopOnFailure {
				p.Target.Timeout = 0
			}
			edit(p)
			svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
				if n < 20 {
					return time.Millisecond, nil
				}
				return 1000 * time.Hour, nil
			}}
			res, _, err := runPlan(t, p, svc, func(r *profile.Runner) { r.Patience = 10 * time.Second })
			failed, ok := errors.AsType[*profile.LoadError](err)
			if !ok || failed.Stall == nil {
				t.Fatalf("the run ends with %v", err)
			}
			if res.Verdict.State != result.ServerFailed || res.Error != failed.Stall.Error() {
				t.Errorf("the verdict is %+v, the error %q", res.Verdict, res.Error)
			}
		})
	}
	f("count windows", basePlan(), func(*plan.Plan) {})
	f("request count", basePlan(), func(p *plan.Plan) { p.Measure.RequestCount = 100 })
	f("warm-up", basePlan(), func(p *plan.Plan) { p.Measure.WarmupCount = 100 })
	f("warm-up of perf_analyzer", perfPlan(), func(p *plan.Plan) { p.Measure.WarmupCount = 100 })
	f("perf_analyzer", perfPlan(), func(p *plan.Plan) {})
	f("rate", basePlan(), func(p *plan.Plan) {
		p.Load.Mode, p.Load.Rate, p.Load.MaxThreads = plan.RequestRate, plan.FloatRange{Start: 1, End: 1, Step: 1}, 4
	})
}
