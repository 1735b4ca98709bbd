package stats_test

import (
	"math"
	"testing"

	"github.com/redline-bench/redline/internal/stats"
)

// With one degree of freedom the quantile is tan(πp/2), with two it is √2·p/√(1-p²): both known at any confidence.
func TestTQuantile(t *testing.T) {
	for _, p := range []float64{0.5, 0.9, 0.95, 0.999, 0.9994, 0.99999, 1 - 1e-9} {
		for df, want := range map[float64]float64{
			1: math.Tan(math.Pi / 2 * p),
			2: math.Sqrt2 * p / math.Sqrt((1-p)*(1+p)),
		} {
			if got := stats.TQuantile(p, df); math.Abs(got/want-1) > 1e-6 {
				t.Errorf("%g with %g degrees of freedom: %g, want %g", p, df, got, want)
			}
		}
	}
	for df, want := range map[float64]float64{3: 3.182446, 10: 2.228139, 30: 2.042272, 1e6: 1.959966} { // printed tables
		if got := stats.TQuantile(0.95, df); math.Abs(got-want) > 2e-6 {
			t.Errorf("0.95 with %g degrees of freedom: %g, want %g", df, got, want)
		}
	}
}
