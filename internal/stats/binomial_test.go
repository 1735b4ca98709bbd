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

func TestShareBounds(t *testing.T) {
	f := func(k, n, level, low, high float64) {
		t.Helper()
		b := stats.ShareBounds(k, n, level)
		if math.Abs(b.Low-low) > 1e-4 || math.Abs(b.High-high) > 1e-4 {
			t.Errorf("%g of %g: %+v, want %g to %g", k, n, b, low, high)
		}
	}
	// None of n: 1-(tail)^(1/n). The others are from the tables of Clopper and Pearson.
	f(0, 100, 0.99, 0, 1-math.Pow(0.005, 0.01))
	f(100, 100, 0.99, math.Pow(0.005, 0.01), 1)
	f(10, 100, 0.95, 0.0490, 0.1762)
	f(0, 0, 0.95, 0, 1)
}
