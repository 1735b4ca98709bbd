package pace_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/law"
)

// gaps are the first n gaps of a schedule, in units of the mean gap of the rate.
func gaps(t *testing.T, s pace.Schedule, rate float64, n int) []float64 {
	t.Helper()
	out := make([]float64, n)
	var last time.Duration
	for i := range out {
		at, ok := s.Next()
		if !ok || at < last {
			t.Fatalf("request %d is due at %s, after %s; %v", i, at, last, ok)
		}
		out[i], last = (at-last).Seconds()*rate, at
	}
	return out
}

// Whatever the rate and the seed, the gaps of a Poisson schedule are exponential, they do not depend on each other, and
// the number of arrivals in a second has a variance equal to its mean.
func TestPoissonLaw(t *testing.T) {
	testkit.Rounds(t, 20, func(t *testing.T, rng *rand.Rand) {
		rate := math.Exp(rng.Float64() * 10) // 1 to 22,000 a second
		seed := rng.Uint64()
		x := gaps(t, pace.Poisson(rate, seed), rate, 20_000)
		law.Fits(t, "gaps", x, law.Exponential)
		law.Independent(t, "gaps", x)
		law.PoissonCounts(t, x)
		if other := gaps(t, pace.Poisson(rate, seed+1), rate, 20_000); math.Abs(law.Correlation(x, other)) > law.Near(len(x)) {
			t.Errorf("the schedules of two seeds have a correlation of %g", law.Correlation(x, other))
		}
	})
}

// At any rate a constant schedule has n requests in n intervals, to the nanosecond, however long it runs.
func TestConstantLaw(t *testing.T) {
	testkit.Rounds(t, 50, func(t *testing.T, rng *rand.Rand) {
		rate := math.Exp(rng.Float64()*16 - 3)
		s := pace.Constant(rate)
		for n := 1; n <= 20_000; n++ {
			at, ok := s.Next()
			if want := float64(n) / rate * 1e9; !ok || math.Abs(float64(at)-want) > 1+want*1e-12 {
				t.Fatalf("request %d at %g a second is due at %s", n, rate, at)
			}
		}
	})
}

// A file of gaps is replayed as it is written, over and over, and its rate is that of its gaps.
func TestReplayedGapsAreExact(t *testing.T) {
	testkit.Rounds(t, 50, func(t *testing.T, rng *rand.Rand) {
		want := make([]time.Duration, 1+rng.IntN(50))
		var file strings.Builder
		var sum time.Duration
		for i := range want {
			us := 1 + rng.Int64N(1_000_000)
			want[i] = time.Duration(us) * time.Microsecond
			sum += want[i]
			fmt.Fprintln(&file, us)
		}
		got, err := pace.ReadIntervals(strings.NewReader(file.String()), "f", rng.IntN(2) == 0)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
		if rate := int64(float64(len(want)) / sum.Seconds()); pace.MeanRate(got)-rate < -1 || pace.MeanRate(got)-rate > 1 {
			t.Errorf("a rate of %d, want %d", pace.MeanRate(got), rate)
		}
		s := pace.Intervals(got)
		var due time.Duration
		for i := range 3 * len(want) {
			due += want[i%len(want)]
			if at, ok := s.Next(); !ok || at != due {
				t.Fatalf("request %d is due at %s, want %s", i, at, due)
			}
		}
	})
}
