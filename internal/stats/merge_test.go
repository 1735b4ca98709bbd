package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/stats"
	"github.com/redline-bench/redline/internal/testkit"
)

// summary is all that a sample tells.
type summary struct {
	Count         uint64
	Sum, Min, Max int64
	Mean          int64
	Quantiles     []int64
	Distribution  []uint64
	Exact         bool
}

func summarize(s *stats.Sample[int64]) summary {
	return summary{
		s.Count(), s.Sum(), s.Min(), s.Max(), s.Mean(),
		s.Quantiles(0, 1, 25, 50, 75, 90, 99, 99.9, 100), s.Octaves(), s.Exact(),
	}
}

// Values that are dealt out to samples at random and merged in any order are the sample of all of them.
func TestMergingIsConcatenation(t *testing.T) {
	testkit.Rounds(t, 100, func(t *testing.T, rng *rand.Rand) {
		parts := make([]stats.Sample[int64], 1+rng.IntN(8))
		var whole stats.Sample[int64]
		scale := math.Exp(rng.Float64() * 25)
		for range rng.IntN(3000) {
			v := int64(rng.ExpFloat64() * scale)
			whole.Add(v)
			parts[rng.IntN(len(parts))].Add(v)
		}
		var merged stats.Sample[int64]
		for _, i := range rng.Perm(len(parts)) {
			merged.Merge(&parts[i])
		}
		if d := cmp.Diff(summarize(&whole), summarize(&merged)); d != "" {
			t.Errorf("whole (-), merged (+): %s", d)
		}
		if d := math.Abs(whole.StdDev() - merged.StdDev()); d > 1+1e-9*whole.StdDev() {
			t.Errorf("deviations %g and %g", whole.StdDev(), merged.StdDev())
		}
	})
}
