//go:build !race

package fleet_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// Up to a thousand workers, each with a connection and an engine of its own, in one process. The test prints how the coordinator's
// cost grows; docs/fleet.md has the law.
func TestAThousandWorkers(t *testing.T) {
	outcome.HeavyOnly(t, "a fleet of a thousand workers in one process")
	type point struct {
		n              int
		gather, memory float64
	}
	var points []point
	for _, n := range []int{100, 300, 1000} {
		h := startHub(t, anyPort, nil)
		c := &crew{answer: func(int64) (time.Duration, error) { return 50 * time.Millisecond, nil }}
		for i := range n {
			c.start(t, h.NATS(), fmt.Sprintf("w%04d", i), nil)
		}
		p := testPlan(func(p *plan.Plan) {
			p.Load.Concurrency = plan.IntRange{Start: n, End: n, Step: 1}
			p.Measure.RequestCount = 20 * n
		})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		conf := config(c, fmt.Sprintf("many%d", n), fmt.Sprint(n), p)
		conf.Fleet.Wait = time.Minute
		began := time.Now()
		run, err := fleet.Gather(t.Context(), dial(t, h.NATS()), conf)
		if err != nil {
			t.Fatal(err)
		}
		gathered := time.Since(began)
		res, err := measure(t, run, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		lv := res.Levels[0]
		if lv.Client.Requests != uint64(20*n) || len(lv.Workers) != n {
			t.Errorf("%d workers: %d requests of %d, %d parts", n, lv.Client.Requests, 20*n, len(lv.Workers))
		}
		grown := float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / float64(n)
		t.Logf("%d workers: gathered in %v, run in %v, %.0f bytes of heap a worker (engine and connection included), started %v apart, clocks within %v", n,
			gathered.Round(time.Millisecond), time.Since(began).Round(time.Millisecond), grown, time.Duration(res.Fleet.StartSkewNs), time.Duration(res.Fleet.ClockErrorNs))
		points = append(points, point{n, gathered.Seconds(), grown})
		run.End()
	}
	first, last := points[0], points[len(points)-1]
	t.Logf("time to gather grows as n^%.2f", math.Log(last.gather/first.gather)/math.Log(float64(last.n)/float64(first.n)))
}
