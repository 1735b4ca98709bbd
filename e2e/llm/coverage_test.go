package llm_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// The intervals of short runs hold the figures of the server's own distribution of first tokens: lognormal, with a mean and
// a deviation of 40 ms.
func TestTimedIntervalCoverage(t *testing.T) {
	outcome.HeavyOnly(t, "the coverage of intervals in 80 runs")
	const mean = 40.0
	deviation := math.Sqrt(math.Ln2) // of the logarithm
	truth := map[string]float64{"avg": mean}
	for p, z := range map[string]float64{"p50": 0, "p90": 1.2815515655, "p95": 1.6448536270, "p99": 2.3263478740} {
		truth[p] = mean * math.Exp(-deviation*deviation/2+z*deviation)
	}
	r := serve(t, "--ttft", "40ms", "--ttft-stddev", "40ms", "--token-distribution", "lognormal", "--seed", "7")
	disturbance.Try(t, func() error {
		const runs = 80
		var stated, below, above tally // below: the whole interval lies below the truth
		for _, intervals := range firstTokens(t, r, runs) {
			for stat, iv := range intervals {
				stated.add(stat)
				switch {
				case iv.Low > truth[stat]:
					above.add(stat)
				case !iv.Open && iv.High < truth[stat]:
					below.add(stat)
				}
			}
		}
		t.Logf("of %d runs state an interval: %v; it lies below the truth: %v, above: %v", runs, stated, below, above)
		for stat := range truth { // of 80 intervals of 95 %, more than 10 miss the truth once in a thousand times
			if wrong := below[stat] + above[stat]; stated[stat] < 70 || wrong > 10 {
				return fmt.Errorf("%s: %d of %d intervals do not hold the truth", stat, wrong, stated[stat])
			}
		}
		return nil
	})
}

// tally counts by name.
type tally map[string]int

func (c *tally) add(name string) {
	if *c == nil {
		*c = tally{}
	}
	(*c)[name]++
}

// firstTokens are the intervals of the time to the first token in a number of runs.
func firstTokens(t *testing.T, r *rig, runs int) []map[string]result.Interval {
	t.Helper()
	out := make([]map[string]result.Interval, runs)
	for n := range out {
		res := r.llm(t, "--streaming", "--request-count", "150", "--concurrency", "4", "--osl", "1", "--isl", "8", "--random-seed", strconv.Itoa(n))
		m := metric(t, &res.Levels[0], "time_to_first_token")
		out[n] = map[string]result.Interval{}
		for _, stat := range []string{"avg", "p50", "p90", "p95", "p99", "p99.9"} {
			if iv := m.IntervalOf(stat); iv != nil {
				out[n][stat] = *iv
			}
		}
	}
	return out
}
