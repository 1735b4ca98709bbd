//go:build !race

// Simulations have no threads and are slow under the race detector: `make unit` runs them without it.

package load

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// The interval of five runs holds the mean latency of a server at 80 % of its capacity about as often as it says. It would in
// 13 to 54 % if all runs had the arrivals of one seed.
func TestCoverageOfRepeats(t *testing.T) {
	const trials, runs, requests = 400, 5, 5000
	rng := rand.New(rand.NewPCG(1, 6))
	latency := func(seed uint64) float64 {
		arrivals := times(newSchedule(&Level{Mode: plan.RequestRate, Rate: 0.8}, &Shape{Arrival: Poisson}, seed), requests)
		free, sum := 0.0, 0.0
		for _, at := range arrivals {
			free = max(free, at) + rng.ExpFloat64()
			sum += free - at
		}
		return sum / requests
	}
	var intervals []result.Interval
	truth := 0.0 // the mean of all runs: a run begins with an empty queue
	for trial := range trials {
		var list [][]result.Metric
		for n := range runs {
			mean := latency(uint64(trial*runs + n))
			truth += mean / (trials * runs)
			list = append(list, []result.Metric{{Tag: "request_latency", Avg: mean}})
		}
		intervals = append(intervals, *metric.Repeats(list, 0.95)[0].Interval)
	}
	held := 0
	for _, iv := range intervals {
		if iv.Low <= truth && truth <= iv.High {
			held++
		}
	}
	t.Logf("%d of %d intervals hold the mean", held, trials)
	if off := 3.3 * math.Sqrt(0.93*0.07*trials); float64(held) < 0.93*trials-off {
		t.Errorf("%d of %d intervals hold the mean", held, trials)
	}
}
