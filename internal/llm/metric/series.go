package metric

import (
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// exactLimit is how many values of a quantity are kept as they are. Beyond it they are counted in buckets, so that a
// run of any length takes the same memory.
const exactLimit = 1 << 15

// Buckets are the floats that share their sign, exponent and nine bits of their fraction: 512 in each power of two,
// which makes the middle of a bucket wrong by at most 0.1 %.
// They range from 1e-6 to above 1e9; what lies outside is counted at the edges.
const (
	bucketBits  = 9
	bucketShift = 52 - bucketBits
	octaves     = 50
)

// lowest is the first bucket.
var lowest = math.Float64bits(1e-6) >> bucketShift

// Percentiles are those of every distribution.
var Percentiles = []float64{1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9}

// series gathers the values of one quantity.
type series struct {
	n         uint64
	sum       float64
	mean, m2  float64 // Welford
	min, max  float64
	values    []float64
	unordered bool
	buckets   []uint64 // nil while values are exact
	zeros     uint64   // values of at most 0, beside the buckets
}

func (s *series) add(v float64) { s.addN(v, 1) }

// addN adds the same value n times.
func (s *series) addN(v float64, n uint64) {
	if math.IsNaN(v) || n == 0 {
		return
	}
	if s.n == 0 {
		s.min, s.max = v, v
	}
	s.min, s.max = min(s.min, v), max(s.max, v)
	s.n += n
	s.sum += v * float64(n)
	d := v - s.mean
	s.mean += d * float64(n) / float64(s.n)
	s.m2 += d * (v - s.mean) * float64(n)
	if s.buckets != nil {
		s.count(v, n)
		return
	}
	if len(s.values)+int(n) > exactLimit {
		s.spill()
		s.count(v, n)
		return
	}
	for range n {
		s.values = append(s.values, v)
	}
	s.unordered = true
}

func (s *series) spill() {
	s.buckets = make([]uint64, octaves<<bucketBits)
	for _, v := range s.values {
		s.count(v, 1)
	}
	s.values = nil
}

func (s *series) count(v float64, n uint64) {
	if v <= 0 {
		s.zeros += n
		return
	}
	k := int64(math.Float64bits(v)>>bucketShift) - int64(lowest)
	s.buckets[max(0, min(k, int64(len(s.buckets)-1)))] += n
}

// with is s and o together; both stay as they are.
func (s *series) with(o *series) *series {
	out := series{n: s.n + o.n, sum: s.sum + o.sum, min: s.min, max: s.max, zeros: s.zeros + o.zeros, unordered: true}
	switch {
	case s.n == 0:
		out.min, out.max = o.min, o.max
	case o.n > 0:
		out.min, out.max = min(s.min, o.min), max(s.max, o.max)
	}
	if out.n > 0 { // Chan's formula for the union of two sets
		d := o.mean - s.mean
		out.mean = s.mean + d*float64(o.n)/float64(out.n)
		out.m2 = s.m2 + o.m2 + d*d*float64(s.n)*float64(o.n)/float64(out.n)
	}
	if s.exact() && o.exact() && len(s.values)+len(o.values) <= exactLimit {
		out.values = slices.Concat(s.values, o.values)
		return &out
	}
	out.spill()
	for _, part := range []*series{s, o} {
		for i, n := range part.buckets {
			out.buckets[i] += n
		}
		for _, v := range part.values {
			out.count(v, 1)
		}
	}
	return &out
}

// exact tells whether percentiles come from the values themselves.
func (s *series) exact() bool { return s.buckets == nil }

// std is the population's standard deviation.
func (s *series) std() float64 {
	if s.n == 0 {
		return 0
	}
	return math.Sqrt(s.m2 / float64(s.n))
}

// dist computes the distribution.
func (s *series) dist() *result.Dist {
	d := &result.Dist{Count: s.n, Sum: s.sum, Min: s.min, Max: s.max, Std: s.std()}
	vs := s.quantiles(Percentiles)
	for i, p := range Percentiles {
		d.Percentiles = append(d.Percentiles, result.Quantile{P: p, V: vs[i]})
	}
	return d
}

// quantiles are the values at percentiles, interpolated between the two nearest ranks of q/100·(n-1).
func (s *series) quantiles(ps []float64) []float64 {
	out := make([]float64, len(ps))
	if s.n == 0 {
		return out
	}
	rank := s.byRank()
	for i, p := range ps {
		out[i] = stats.Interpolate(p, int(s.n), rank)
	}
	return out
}

// byRank gives the value of rank k.
func (s *series) byRank() func(k int) float64 {
	if !s.exact() {
		return s.ranks()
	}
	if s.unordered {
		slices.Sort(s.values)
		s.unordered = false
	}
	return func(k int) float64 { return s.values[k] }
}

// between gives the value of rank k for the ends of intervals: within a bucket values are taken as evenly spread, because the
// middle of a bucket may lie outside of a narrow interval.
func (s *series) between() func(k int) float64 {
	if s.exact() {
		return s.byRank()
	}
	return s.inBuckets(func(low, high float64, place, n uint64) float64 {
		return low + (high-low)*(float64(place)+0.5)/float64(n)
	})
}

// ranks gives the value of rank k out of the buckets: their middles, the extremes exactly.
func (s *series) ranks() func(k int) float64 {
	return s.inBuckets(func(low, high float64, _, _ uint64) float64 { return (low + high) / 2 })
}

// inBuckets gives the value of rank k, where of chooses it out of the bucket: the edges, the place within the bucket and the
// number of values in it.
func (s *series) inBuckets(of func(low, high float64, place, n uint64) float64) func(k int) float64 {
	up := make([]uint64, len(s.buckets)) // values up to and with each bucket
	total := s.zeros
	for i, n := range s.buckets {
		total += n
		up[i] = total
	}
	return func(k int) float64 {
		rank := uint64(k)
		if rank < s.zeros {
			return min(0, s.min)
		}
		i, _ := slices.BinarySearch(up, rank+1)
		if i == len(up) {
			return s.max
		}
		low := math.Float64frombits((lowest + uint64(i)) << bucketShift)
		high := math.Float64frombits((lowest + uint64(i) + 1) << bucketShift)
		return max(s.min, min(of(low, high, rank+s.buckets[i]-up[i], s.buckets[i]), s.max))
	}
}
