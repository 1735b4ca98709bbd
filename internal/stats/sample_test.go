package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redline-bench/redline/internal/stats"
)

func sampleOf(values ...int64) *stats.Sample {
	var s stats.Sample
	for _, v := range values {
		s.Add(v)
	}
	return &s
}

func TestSummaryOfAKnownSet(t *testing.T) {
	s := sampleOf(40, 10, 30, 20)
	// mean 25; deviations -15 -5 5 15; sum of squares 500; 500/3 = 166.67; root 12.9
	if s.Count() != 4 || s.Sum() != 100 || s.Mean() != 25 || s.StdDev() != 12 || s.Min() != 10 || s.Max() != 40 {
		t.Errorf("count %d sum %d mean %d deviation %d min %d max %d", s.Count(), s.Sum(), s.Mean(), s.StdDev(), s.Min(), s.Max())
	}
	// index = trunc(p/100·3 + 0.5): 50 → 2 (1.5+0.5), 90 → 3, 10 → 0, 17 → 1
	for p, want := range map[float64]int64{0: 10, 10: 10, 17: 20, 50: 30, 90: 40, 100: 40} {
		if got := s.Quantiles(p)[0]; got != want {
			t.Errorf("p%g = %d, want %d", p, got, want)
		}
	}
}

func TestOneValueHasNoDeviation(t *testing.T) {
	if s := sampleOf(7); s.StdDev() != 0 || s.Quantiles(99)[0] != 7 {
		t.Errorf("deviation %d, p99 %d", s.StdDev(), s.Quantiles(99)[0])
	}
	var empty stats.Sample
	if empty.Mean() != 0 || empty.Quantiles(50)[0] != 0 {
		t.Error("an empty sample must be all zeros")
	}
}

// Merging must give what one sample of all values gives, exact or not.
func TestMergeEqualsUnion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, sizes := range [][]int{{0, 5}, {1, 1}, {1000, 1}, {stats.ExactLimit + 10, 100}, {100, stats.ExactLimit + 10}, {stats.ExactLimit, stats.ExactLimit, stats.ExactLimit, 9}} {
		var union, merged stats.Sample
		for _, n := range sizes {
			var part stats.Sample
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
		if d := math.Abs(float64(merged.StdDev()-union.StdDev())) / float64(max(1, union.StdDev())); d > 1e-6 {
			t.Errorf("%v: deviations differ by %g", sizes, d)
		}
		for i, v := range merged.Quantiles(50, 99) {
			u := union.Quantiles(50, 99)[i]
			if math.Abs(float64(v-u)) > 0.002*float64(u)+1 {
				t.Errorf("%v: quantile %d: %d and %d", sizes, i, v, u)
			}
		}
	}
}

func TestHistogramErrorStaysWithinOnePerMille(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var s stats.Sample
	all := make([]int64, stats.ExactLimit+200_000)
	for i := range all {
		all[i] = int64(math.Exp(rng.NormFloat64()*1.5) * 1e6)
		s.Add(all[i])
	}
	if s.Exact() {
		t.Fatal("the sample should have switched to a histogram")
	}
	slices.Sort(all)
	for _, p := range []float64{1, 50, 90, 99, 99.9} {
		want := all[int(p/100*float64(len(all)-1)+0.5)]
		got := s.Quantiles(p)[0]
		if e := math.Abs(float64(got-want)) / float64(want); e > 0.001 {
			t.Errorf("p%g: %d instead of %d: error %.4f %%", p, got, want, e*100)
		}
	}
}
