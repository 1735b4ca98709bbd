package stats_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/stats"
)

// A bucket must hold its own upper edge and not the value after it, and buckets must be narrow.
func TestOctaveEdges(t *testing.T) {
	last := int64(-1)
	for i := range stats.NumOctave - 1 {
		end := stats.OctaveEnd(i)
		if stats.Octave(end) != i || stats.Octave(end+1) != i+1 {
			t.Fatalf("bucket %d ends at %d, which lies in %d; %d lies in %d", i, end, stats.Octave(end), end+1, stats.Octave(end+1))
		}
		if end <= last || last > 128 && float64(end-last) > 0.016*float64(last) {
			t.Fatalf("bucket %d reaches from %d to %d", i, last, end)
		}
		last = end
	}
	if last < int64(3600e9) {
		t.Errorf("the buckets end at %d ns, before an hour", last)
	}
}

func TestCountsHoldEveryValue(t *testing.T) {
	for _, n := range []int{0, 1000, stats.ExactLimit + 1000} {
		var s stats.Sample[int64]
		for i := range n {
			s.Add(int64(i) * 37)
		}
		var sum uint64
		for _, c := range s.Octaves() {
			sum += c
		}
		if sum != uint64(n) {
			t.Errorf("%d of %d values are in the buckets", sum, n)
		}
	}
}
