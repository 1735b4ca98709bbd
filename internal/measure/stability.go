package measure

import (
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// StableWindows is how many windows in a row must agree.
const StableWindows = 3

// Stabilizing returns the latency that decides about stability and limits: the requested percentile, or the mean.
func Stabilizing(c *result.Client, m *plan.Measure) time.Duration {
	if m.Percentile > 0 {
		return time.Duration(c.Latency.At(float64(m.Percentile)))
	}
	return time.Duration(c.Latency.Avg)
}

// Stable reports whether the last three windows agree: each has throughput, and the largest throughput is at most (1+s)
// times the smallest. Unless throughputOnly, this must also hold for the stabilizing latency. reason says what did not
// hold.
func Stable(windows []result.Window, m *plan.Measure, throughputOnly bool) (ok bool, reason string) {
	if len(windows) < StableWindows {
		return false, "fewer than three windows were measured"
	}
	last := windows[len(windows)-StableWindows:]
	var rates, latencies []float64
	for i := range last {
		if last[i].Error != "" || last[i].Client.InferPerSec == 0 {
			return false, "no request succeeded in one of the last three windows"
		}
		rates = append(rates, last[i].Client.InferPerSec)
		latencies = append(latencies, float64(Stabilizing(&last[i].Client, m)))
	}
	if !within(rates, m.Stability) {
		return false, "throughput differed between the last three windows by more than the stability percentage"
	}
	if !throughputOnly && !within(latencies, m.Stability) {
		return false, "latency differed between the last three windows by more than the stability percentage"
	}
	return true, ""
}

// within reports whether max/min <= 1+s.
func within(values []float64, s float64) bool {
	lo, hi := values[0], values[0]
	for _, v := range values[1:] {
		lo, hi = min(lo, v), max(hi, v)
	}
	return hi/lo <= 1+s
}

// OverLimit reports whether the latency reached the limit.
func OverLimit(c *result.Client, m *plan.Measure) bool {
	return m.LatencyLimit > 0 && Stabilizing(c, m) >= m.LatencyLimit
}
