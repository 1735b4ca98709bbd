package profile_test

import (
	"math"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
)

// With a think time the throughput is concurrency ÷ (latency + think time); neither the verdict nor the overhead holds it
// against the client.
func TestThinkTime(t *testing.T) {
	for _, count := range []int{0, 400} {
		p := basePlan()
		p.Load.Concurrency = plan.IntRange{Start: 4, End: 4, Step: 1}
		p.Load.ThinkTime = pace.ThinkTime{Mean: 90 * time.Millisecond, Spread: 30 * time.Millisecond}
		p.Measure.Interval, p.Measure.RequestCount = 5*time.Second, count
		res, _, err := runPlan(t, p, pinned(10*time.Millisecond), nil)
		if err != nil {
			t.Fatal(err)
		}
		lv := &res.Levels[0]
		c, h := &lv.Client, &lv.Health
		if math.Abs(c.InferPerSec-40) > 2 || c.Latency.Max != float64(10*time.Millisecond) || c.OverheadPercent > 0.1 {
			t.Errorf("%g per second, %s, %g %% overhead", c.InferPerSec, time.Duration(c.Latency.Max), c.OverheadPercent)
		}
		if math.Abs(h.AchievedInFlight-0.4) > 0.02 || math.Abs(h.AskedInFlight-h.AchievedInFlight) > 1e-3 || lv.ClientLimited {
			t.Errorf("%g of %g in flight, %+v", h.AchievedInFlight, h.AskedInFlight, res.Verdict)
		}
	}
}
