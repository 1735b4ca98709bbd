package llm_test

import (
	"fmt"
	"maps"
	"math"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// The intervals of short runs hold the figures of the server's own distribution of first tokens: lognormal, with a mean and
// a deviation of 40 ms.
func TestIntervalCoverage(t *testing.T) {
	outcome.HeavyOnly(t, "the coverage of intervals in 80 runs")
	const runs, atOnce, mean = 80, 4, 40.0
	r := serve(t, "--ttft", "40ms", "--ttft-stddev", "40ms", "--token-distribution", "lognormal", "--seed", "7")
	deviation := math.Sqrt(math.Ln2) // of the logarithm
	truth := map[string]float64{"avg": mean}
	for p, z := range map[string]float64{"p50": 0, "p90": 1.2815515655, "p95": 1.6448536270, "p99": 2.3263478740} {
		truth[p] = mean * math.Exp(-deviation*deviation/2+z*deviation)
	}
	var mu sync.Mutex
	held := map[string]int{}
	var all sync.WaitGroup
	for at := range atOnce {
		all.Go(func() {
			for n := at; n < runs; n += atOnce {
				res := r.llm(t, "--streaming", "--request-count", "150", "--concurrency", "2", "--osl", "1", "--isl", "8", "--random-seed", fmt.Sprint(n))
				m := metric(t, &res.Levels[0], "time_to_first_token")
				intervals := map[string]result.Interval{"avg": *m.Interval}
				maps.Copy(intervals, m.Intervals)
				mu.Lock()
				for stat, iv := range intervals {
					if iv.Low <= truth[stat] && (iv.Open || truth[stat] <= iv.High) {
						held[stat]++
					}
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Logf("of %d intervals hold the truth: %v", runs, held)
	// Of 80 intervals of 95 %, fewer than 70 hold the truth once in a thousand times.
	for stat := range truth {
		if held[stat] < 70 {
			t.Errorf("%d of %d intervals of %s hold the truth", held[stat], runs, stat)
		}
	}
}
