package profile_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit"
)

func ratePlan(rate float64, dist plan.Distribution, seed uint64) *plan.Plan {
	p := basePlan()
	p.Load.Mode, p.Load.Distribution, p.Load.Seed = plan.RequestRate, dist, seed
	p.Load.Rate = plan.FloatRange{Start: rate, End: 1, Step: 1}
	p.Measure.FromSend, p.Measure.StopOnFailure, p.Measure.Interval = false, false, 5*time.Second
	return p
}

func async(r *profile.Runner) { r.Async = true }

// A client that keeps up with its schedule is not the limit, however many requests the schedule drew.
func TestAClientThatKeepsUpIsNeverTheLimit(t *testing.T) {
	const seeds = 1000
	lengths := map[float64]time.Duration{1: 15 * time.Second, 10: 15 * time.Second, 100: 15 * time.Second, 1000: 1500 * time.Millisecond, 10_000: 150 * time.Millisecond}
	for rate, length := range lengths {
		condemned := 0
		for seed := range uint64(seeds) {
			rng := rand.New(rand.NewPCG(seed, 7))
			// Windows begin at any time of the schedule; requests are sent some microseconds after they are due.
			from := time.Duration(rng.Int64N(int64(time.Second)))
			until, sent := from+length, 0.0
			for s := pace.Poisson(rate, seed); ; {
				due, _ := s.Next()
				if due > until {
					break
				}
				if at := due + time.Duration(50e3*rng.ExpFloat64()); at > from && at <= until {
					sent++
				}
			}
			l := measure.Load{Due: pace.Due(pace.Poisson(rate, seed), from, until)}
			l.Rate, l.SendRate = l.Due/length.Seconds(), sent/length.Seconds()
			lv := result.Level{Client: result.Client{Requests: uint64(sent)}, Health: result.Health{AchievedRate: l.SendRate}}
			if why := measure.Judge(&lv, l); len(why) > 0 {
				condemned++
			}
		}
		if condemned > 0 {
			t.Errorf("%g per second: %d of %d seeds are called client-limited", rate, condemned, seeds)
		}
	}
}

// The same through the whole runner, in simulated time.
func TestPoissonArrivalsAreNotTheClientsLimit(t *testing.T) {
	for rate, window := range map[float64]time.Duration{1: 30 * time.Second, 100: 400 * time.Millisecond} {
		p := ratePlan(rate, plan.Poisson, 0)
		p.Measure.Interval = window
		res, _, err := runPlan(t, p, pinned(20*time.Millisecond), async)
		if err != nil {
			t.Fatal(err)
		}
		h := res.Levels[0].Health
		if res.Verdict.State == result.ClientLimited || math.Abs(h.AchievedRate/h.AskedRate-1) > 1e-9 {
			t.Errorf("%g per second: sent %g of %g: %+v", rate, h.AchievedRate, h.AskedRate, res.Verdict)
		}
	}
}

// A client that sends half of what is due is found out, whatever the schedule.
func TestAClientThatFallsBehindIsTheLimit(t *testing.T) {
	for _, dist := range []plan.Distribution{plan.Constant, plan.Poisson} {
		p := ratePlan(100, dist, 3)
		p.Load.MaxThreads = 1 // one synchronous call of 20 ms at a time: 50 per second
		res, _, err := runPlan(t, p, pinned(20*time.Millisecond), nil)
		if err != nil {
			t.Fatal(err)
		}
		if h := res.Levels[0].Health; res.Verdict.State != result.ClientLimited || math.Abs(h.AchievedRate-50) > 1 || math.Abs(h.AskedRate-100) > 15 {
			t.Errorf("%s: sent %g of %g: %+v", dist, h.AchievedRate, h.AskedRate, res.Verdict)
		}
	}
}

// Overhead in open loop is lateness. A thread of perf_analyzer that waits for a slow response is idle, so the load that it cannot
// keep up with is no overhead there.
func TestOverheadOfAnOpenLoop(t *testing.T) {
	f := func(perThread bool, low, high float64) {
		t.Helper()
		p := ratePlan(100, plan.Constant, 0)
		p.Load.MaxThreads, p.Policies.PerThread = 1, perThread
		res, _, err := runPlan(t, p, pinned(20*time.Millisecond), nil)
		if err != nil {
			t.Fatal(err)
		}
		if o := res.Levels[0].Client.OverheadPercent; o < low || o > high {
			t.Errorf("per thread %v: overhead %g %%, want %g to %g", perThread, o, low, high)
		}
	}
	f(false, 90, 100)
	f(true, 0, 1)
}

// The wait for the last responses belongs neither to the rate that was sent nor to the throughput.
func TestARequestCountDoesNotCountTheWaitForTheLastResponse(t *testing.T) {
	f := func(count int, rate float64, latency time.Duration) {
		t.Helper()
		p := ratePlan(rate, plan.Constant, 0)
		p.Measure.RequestCount, p.Measure.Window = count, plan.CountWindows
		res, _, err := runPlan(t, p, pinned(latency), async)
		if err != nil {
			t.Fatal(err)
		}
		lv := &res.Levels[0]
		if res.Verdict.State != result.Valid || math.Abs(lv.Health.AchievedRate/rate-1) > 1e-3 || math.Abs(lv.Client.SendRate/rate-1) > 1e-3 {
			t.Errorf("%d at %g per second: sent %g of %g, %+v", count, rate, lv.Health.AchievedRate, lv.Health.AskedRate, res.Verdict)
		}
		if math.Abs(lv.Client.InferPerSec/rate-1) > 1e-3 {
			t.Errorf("%d at %g per second: throughput %g", count, rate, lv.Client.InferPerSec)
		}
	}
	f(100, 100, 300*time.Millisecond)
	f(200, 1000, 15*time.Millisecond)
	f(40, 1, 9*time.Second)
}

// In closed loop a slot that has nothing more to send is neither idle nor a loss of throughput.
func TestARequestCountInClosedLoop(t *testing.T) {
	f := func(count, concurrency int, want float64) {
		t.Helper()
		p := basePlan()
		p.Load.Concurrency = plan.IntRange{Start: concurrency, End: 1, Step: 1}
		p.Measure.RequestCount, p.Measure.Window = count, plan.CountWindows
		res, _, err := runPlan(t, p, pinned(100*time.Millisecond), nil)
		if err != nil {
			t.Fatal(err)
		}
		lv := &res.Levels[0]
		if res.Verdict.State != result.Valid || math.Abs(lv.Client.InferPerSec/want-1) > 1e-3 || lv.Client.OverheadPercent > 0.1 {
			t.Errorf("%d requests, %d in flight: %g per second, overhead %g %%, %+v",
				count, concurrency, lv.Client.InferPerSec, lv.Client.OverheadPercent, res.Verdict)
		}
	}
	f(40, 1, 10)
	f(100, 10, 100)
	f(100, 64, 640)
}

// Responses of 260 ms do not fit into windows of 600 ms: what passes the edge is in flight all the same.
func TestResponsesThatPassTheEdgeOfAWindow(t *testing.T) {
	p := basePlan()
	p.Load.Concurrency = plan.IntRange{Start: 8, End: 1, Step: 1}
	p.Measure.Interval = 600 * time.Millisecond
	res, _, err := runPlan(t, p, pinned(260*time.Millisecond), nil)
	if err != nil {
		t.Fatal(err)
	}
	lv := &res.Levels[0]
	if res.Verdict.State != result.Valid || math.Abs(lv.Health.AchievedInFlight-8) > 0.01 {
		t.Errorf("%g in flight: %+v", lv.Health.AchievedInFlight, res.Verdict)
	}
	for i, w := range lv.Windows {
		if w.Client.OverheadPercent > 0.1 {
			t.Errorf("window %d: overhead %g %%", i, w.Client.OverheadPercent)
		}
	}
}

// Every 25th response takes 8 s, and the run ends after 4.5 s.
func TestResponsesThatComeAfterTheEndAreReported(t *testing.T) {
	p := ratePlan(50, plan.Constant, 0)
	p.Measure.Interval = 1500 * time.Millisecond
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n%25 == 12 {
			return 8 * time.Second, nil
		}
		return 20 * time.Millisecond, nil
	}}
	res, _, err := runPlan(t, p, svc, async)
	if err != nil {
		t.Fatal(err)
	}
	lv := &res.Levels[0]
	c := &lv.Client
	if res.Verdict.State != result.TooShort || !lv.TooShort || lv.ClientLimited {
		t.Errorf("%+v, level %v", res.Verdict, lv.TooShort)
	}
	// At 4.5 s nine slow requests are in flight, and up to two fast ones.
	if c.Unfinished < 9 || c.Unfinished > 11 || c.OldestNs < int64(4150*time.Millisecond) || c.OldestNs > int64(4350*time.Millisecond) {
		t.Errorf("%d in flight at the end, the oldest for %s", c.Unfinished, time.Duration(c.OldestNs))
	}
	if q := c.Latency.Point(99); !q.AtLeast || q.V < float64(time.Second) {
		t.Errorf("p99 %+v", q)
	}
	if q := c.Latency.Point(95); q.AtLeast || q.V != float64(20*time.Millisecond) {
		t.Errorf("p95 %+v", q)
	}
}

// Windows by count differ in length. The rate of sends is that of the whole time.
func TestRatesOfUnequalWindowsAreWeighted(t *testing.T) {
	p := basePlan()
	p.Measure.Window, p.Measure.MinRequests, p.Measure.Stability = plan.CountWindows, 100, 1000
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n < 100 {
			return 90 * time.Millisecond, nil
		}
		return 10 * time.Millisecond, nil
	}}
	res, _, err := runPlan(t, p, svc, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &res.Levels[0].Client
	if want := float64(c.Requests) / time.Duration(c.DurationNs).Seconds(); math.Abs(c.SendRate/want-1) > 1e-6 {
		t.Errorf("%d requests in %s are %g per second, not %g", c.Requests, time.Duration(c.DurationNs), want, c.SendRate)
	}
}
