package stats_test

import (
	"math"
	"testing"

	"github.com/redline-bench/redline/internal/stats"
)

func TestBinomialTail(t *testing.T) {
	f := func(k, n, p, want float64) {
		t.Helper()
		if got := stats.BinomialTail(k, n, p); math.Abs(got-want) > 1e-12 {
			t.Errorf("at least %g of %g with %g: %g, want %g", k, n, p, got, want)
		}
	}
	f(0, 4, 0.5, 1)
	f(4, 4, 0.5, 0.0625)
	f(3, 4, 0.5, 0.3125)
	f(5, 4, 0.5, 0)
	f(1, 10, 0.1, 1-math.Pow(0.9, 10))
}
