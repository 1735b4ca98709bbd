package pace_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/segment"
)

// The arrivals of all segments together are those of the whole, at the same times, and each belongs to one segment.
func TestPartsAreTheWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		anew := randomSchedule(rng)
		const most = 400
		whole := arrivals(anew(), most)
		of, lanes := 1+rng.IntN(16), 1+rng.IntN(24)
		var all []time.Duration
		for i := range of {
			d := segment.Segment{Index: i, Of: of}.Over(lanes)
			all = append(all, arrivals(pace.Part(anew(), d), d.Count(len(whole)))...)
		}
		slices.Sort(all)
		if !slices.Equal(all, whole) {
			t.Fatalf("%d segments over %d lanes: %d arrivals of %d, or other times", of, lanes, len(all), len(whole))
		}
	}
}

// A schedule that ends has no arrival in any segment after its last one.
func TestPartsEnd(t *testing.T) {
	times := []time.Duration{1, 2, 3, 4, 5}
	count := 0
	for i := range 4 {
		count += len(arrivals(pace.Part(pace.Fixed(times), segment.Segment{Index: i, Of: 4}.Even()), 10))
	}
	if count != len(times) {
		t.Errorf("%d of %d arrivals", count, len(times))
	}
}

// arrivals takes at most n arrivals.
func arrivals(s pace.Schedule, n int) []time.Duration {
	var out []time.Duration
	for range n {
		at, ok := s.Next()
		if !ok {
			break
		}
		out = append(out, at)
	}
	return out
}

// randomSchedule draws a kind of schedule, and returns what makes it anew.
func randomSchedule(rng *rand.Rand) func() pace.Schedule {
	rate, seed := 0.1+rng.Float64()*1e5, rng.Uint64()
	stages := []pace.Stage{{From: 0, To: 50, Time: time.Second}, {From: 50, To: 50, Time: 2 * time.Second}, {From: 200, To: 10, Time: time.Second}}
	gaps := []time.Duration{0, time.Millisecond, time.Duration(1 + rng.IntN(1e6)), 0}
	return []func() pace.Schedule{
		func() pace.Schedule { return pace.Constant(rate) },
		func() pace.Schedule { return pace.Poisson(rate, seed) },
		func() pace.Schedule { return pace.Intervals(gaps) },
		func() pace.Schedule { return pace.Stages(stages, nil) },
		func() pace.Schedule { return pace.Stages(stages, rand.New(rand.NewPCG(seed, 0)).ExpFloat64) },
		func() pace.Schedule { return pace.Fixed(gaps[:1]) },
	}[rng.IntN(6)]
}
