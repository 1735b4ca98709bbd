package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redline-bench/redline/internal/stats"
)

func sampleOf(values ...int64) *stats.Sample[int64] {
	var s stats.Sample[int64]
	for _, v := range values {
		s.Add(v)
	}
	return &s
}

func TestSummaryOfAKnownSet(t *testing.T) {
	s := sampleOf(40, 10, 30, 20)
	// mean 25; deviations -15 -5 5 15; sum of squares 500; 500/3 = 166.67; root 12.9
	if s.Count() != 4 || s.Sum() != 100 || s.Mean() != 25 || int(s.StdDev()) != 12 || s.Min() != 10 || s.Max() != 40 {
		t.Errorf("count %d sum %d mean %d deviation %g min %d max %d", s.Count(), s.Sum(), s.Mean(), s.StdDev(), s.Min(), s.Max())
	}
	if got := s.PopulationStdDev(); math.Abs(got-math.Sqrt(125)) > 1e-9 {
		t.Errorf("population deviation %g", got)
	}
	// rank p/100·3: 10 → 0.3, 17 → 0.51, 50 → 1.5, 90 → 2.7
	for p, want := range map[float64]int64{0: 10, 10: 13, 17: 15, 50: 25, 90: 37, 100: 40} {
		if got := s.Quantiles(p)[0]; got != want {
			t.Errorf("p%g = %d, want %d", p, got, want)
		}
	}
	// perf_analyzer's index = trunc(p/100·3 + 0.5): 50 → 2 (1.5+0.5), 90 → 3, 10 → 0, 17 → 1
	for p, want := range map[float64]int64{0: 10, 10: 10, 17: 20, 50: 30, 90: 40, 100: 40} {
		if got := s.NearestRanks(p)[0]; got != want {
			t.Errorf("nearest rank of p%g = %d, want %d", p, got, want)
		}
	}
}

func TestOneValueHasNoDeviation(t *testing.T) {
	if s := sampleOf(7); s.StdDev() != 0 || s.Quantiles(99)[0] != 7 {
		t.Errorf("deviation %g, p99 %d", s.StdDev(), s.Quantiles(99)[0])
	}
	var empty stats.Sample[int64]
	if empty.Mean() != 0 || empty.Quantiles(50)[0] != 0 {
		t.Error("an empty sample must be all zeros")
	}
}

// Merging must give what one sample of all values gives, exact or not.
func TestMergeEqualsUnion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, sizes := range [][]int{{0, 5}, {1, 1}, {1000, 1}, {stats.ExactLimit + 10, 100}, {100, stats.ExactLimit + 10}, {stats.ExactLimit, stats.ExactLimit, stats.ExactLimit, 9}} {
		var union, merged stats.Sample[int64]
		for _, n := range sizes {
			var part stats.Sample[int64]
			for range n {
				v := int64(rng.ExpFloat64() * 1e6)
				part.Add(v)
				union.Add(v)
			}
			merged.Merge(&part)
		}
		if merged.Count() != union.Count() || merged.Sum() != union.Sum() || merged.Min() != union.Min() || merged.Max() != union.Max() {
			t.Errorf("%v: counts, sums or extremes differ", sizes)
		}
		if d := math.Abs(merged.StdDev()-union.StdDev()) / max(1, union.StdDev()); d > 1e-6 {
			t.Errorf("%v: deviations differ by %g", sizes, d)
		}
		for i, v := range merged.Quantiles(50, 99) {
			u := union.Quantiles(50, 99)[i]
			if math.Abs(float64(v-u)) > 2*stats.MaxError*float64(u)+1 {
				t.Errorf("%v: quantile %d: %d and %d", sizes, i, v, u)
			}
		}
	}
}

func TestBucketsKeepTheStatedError(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var s stats.Sample[int64]
	all := make([]int64, stats.ExactLimit+200_000)
	for i := range all {
		all[i] = int64(math.Exp(rng.NormFloat64()*1.5) * 1e6)
		s.Add(all[i])
	}
	if s.Exact() {
		t.Fatal("the sample should have switched to buckets")
	}
	slices.Sort(all)
	for _, p := range []float64{1, 50, 90, 99, 99.9} {
		want := stats.Interpolate(p, len(all), func(k int) float64 { return float64(all[k]) })
		if e := math.Abs(float64(s.Quantiles(p)[0])-want) / want; e > stats.MaxError {
			t.Errorf("p%g: %d instead of %g: error %.4f %%", p, s.Quantiles(p)[0], want, e*100)
		}
	}
}

// Few values of a wide range, values below all buckets, zeros and negative ones stay in their order and within the extremes.
func TestBucketsOfOddValues(t *testing.T) {
	s := stats.Sample[float64]{Limit: 2}
	for _, v := range []float64{1e-12, 1e20, 0, -3, 5} {
		s.Add(v)
	}
	s.AddN(7, 3)
	at := s.Ranks()
	want := []float64{-3, -3, 1e-12, 5, 7, 7, 7, 1e20}
	for k, w := range want[1:] {
		if got := at(k + 1); k+1 > 2 && k+1 < 7 && math.Abs(got-w) > stats.MaxError*w || got < at(k) {
			t.Errorf("rank %d is %g, want %g", k+1, got, w)
		}
	}
	if s.Exact() || s.Count() != 8 || s.Min() != -3 || s.Max() != 1e20 || s.Quantiles(0)[0] != -3 {
		t.Errorf("exact %v, count %d, from %g to %g", s.Exact(), s.Count(), s.Min(), s.Max())
	}
}
