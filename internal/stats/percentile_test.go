package stats_test

import (
	"math"
	"testing"

	"github.com/redline-bench/redline/internal/stats"
)

// The expected values are numpy's.
func TestInterpolateAsNumpy(t *testing.T) {
	f := func(p, want float64, sorted ...float64) {
		t.Helper()
		if got := stats.Interpolate(p, len(sorted), func(k int) float64 { return sorted[k] }); got != want {
			t.Errorf("%v of %v: %v, want %v", p, sorted, got, want)
		}
	}
	f(50, 3, 3)
	f(50, 1.5, 1, 2)
	f(90, 1.9, 1, 2)
	f(50, 2, 1, 2, 3)
	f(25, 1.75, 1, 2, 3, 4)
	f(99, 3.9699999999999998, 1, 2, 3, 4)
	f(50, 2, 1, 2, math.Inf(1)) // the rank is that of a value
	f(51, math.Inf(1), 1, 2, math.Inf(1))
	f(90, math.Inf(1), 1, 2, math.Inf(1))
}
