package profile_test

import (
	"math"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// Every fiftieth request waits 500 ms in the queue of a server with dynamic batching.
func TestHoldsAreReported(t *testing.T) {
	isHeld := func(n int64) bool { return n%50 == 49 }
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if isHeld(n) {
			return 520 * time.Millisecond, nil
		}
		return 20 * time.Millisecond, nil
	}}
	svc.Counters = func() []service.ModelStats {
		s := service.ModelStats{Name: "fake", Version: "1"}
		for n := range svc.Sent() {
			s.Queue.Count++
			if isHeld(n) {
				s.Queue.Ns += uint64(500 * time.Millisecond)
			}
		}
		return []service.ModelStats{s}
	}
	p := basePlan()
	p.Measure.RequestCount = 500
	res, _, err := runPlan(t, p, svc, func(r *profile.Runner) { r.Model.Scheduler = service.DynamicBatcher })
	if err != nil {
		t.Fatal(err)
	}
	h := res.Levels[0].Hold
	if h == nil || h.Requests != 10 || h.Times != 10 || h.WaitedNs != int64(5*time.Second) || math.Abs(h.Share-1.0/3) > 0.01 {
		t.Errorf("%+v", h)
	}
}
