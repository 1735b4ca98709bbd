// Package stats summarizes sets of numbers: exact while they are few enough to keep, in buckets beyond that.
package stats

import (
	"cmp"
	"math"
	"slices"
)

// ExactLimit is how many values a Sample keeps one by one unless its Limit says otherwise.
const ExactLimit = 1 << 18

// Sample gathers values: whole nanoseconds, or any other quantity. The zero value is ready.
//
// Up to Limit values percentiles are exact. Beyond that values are counted in Buckets, so that memory does not grow with the
// number of requests, and percentiles are within MaxError. Count, sum, mean, deviation and extremes stay exact.
type Sample[T int64 | float64] struct {
	// Limit is how many values are kept one by one; 0 is ExactLimit. Samples that are merged may keep three times as many.
	Limit    int
	values   []T
	unsorted bool
	buckets  *Buckets[uint64] // nil while values are kept
	n        uint64
	sum      T
	min, max T
	// Welford's running mean and sum of squared deviations: no overflow, no cancellation.
	mean, m2 float64
}

// Add takes one value in.
func (s *Sample[T]) Add(v T) { s.AddN(v, 1) }

// AddN takes the same value in n times.
func (s *Sample[T]) AddN(v T, n uint64) {
	if n == 0 {
		return
	}
	if s.n == 0 || v < s.min {
		s.min = v
	}
	if s.n == 0 || v > s.max {
		s.max = v
	}
	s.n += n
	s.sum += v * T(n)
	d := float64(v) - s.mean
	s.mean += d * float64(n) / float64(s.n)
	s.m2 += d * (float64(v) - s.mean) * float64(n)
	if s.buckets == nil && len(s.values)+int(n) <= s.limit() {
		for range n {
			s.values = append(s.values, v)
		}
		s.unsorted = true
		return
	}
	s.spill()
	s.buckets.Add(float64(v), n)
}

func (s *Sample[T]) limit() int { return cmp.Or(s.Limit, ExactLimit) }

// spill moves the kept values into buckets.
func (s *Sample[T]) spill() {
	if s.buckets == nil {
		s.buckets = &Buckets[uint64]{}
	}
	for _, v := range s.values {
		s.buckets.Add(float64(v), 1)
	}
	s.values = nil
}

// Merge takes all of o in; o stays as it is.
func (s *Sample[T]) Merge(o *Sample[T]) {
	if o.n == 0 {
		return
	}
	if s.n == 0 {
		s.min, s.max = o.min, o.max
	}
	s.min, s.max = min(s.min, o.min), max(s.max, o.max)
	// Chan's formula for the union of two sets.
	n := float64(s.n + o.n)
	d := o.mean - s.mean
	s.m2 += o.m2 + d*d*float64(s.n)*float64(o.n)/n
	s.mean += d * float64(o.n) / n
	s.n += o.n
	s.sum += o.sum
	if s.buckets == nil && o.buckets == nil && len(s.values)+len(o.values) <= s.limit()*3 {
		s.values = append(s.values, o.values...)
		s.unsorted = true
		return
	}
	s.spill()
	if o.buckets != nil {
		MergeBuckets(s.buckets, o.buckets)
	}
	for _, v := range o.values {
		s.buckets.Add(float64(v), 1)
	}
}

// Count is the number of values.
func (s *Sample[T]) Count() uint64 { return s.n }

// Exact tells whether percentiles come from the values themselves.
func (s *Sample[T]) Exact() bool { return s.buckets == nil }

// Sum is the sum of all values. It, Min and Max are 0 for an empty sample.
func (s *Sample[T]) Sum() T { return s.sum }

// Min is the smallest value.
func (s *Sample[T]) Min() T { return s.min }

// Max is the largest value.
func (s *Sample[T]) Max() T { return s.max }

// Mean is the sum divided by the count, rounded down where values are whole; 0 for an empty sample.
func (s *Sample[T]) Mean() T {
	if s.n == 0 {
		return 0
	}
	return s.sum / T(s.n)
}

// StdDev is the sample standard deviation sqrt(Σ(v-mean)²/(n-1)); 0 for fewer than two values.
func (s *Sample[T]) StdDev() float64 {
	if s.n < 2 {
		return 0
	}
	return math.Sqrt(s.m2 / float64(s.n-1))
}

// PopulationStdDev is sqrt(Σ(v-mean)²/n); 0 for an empty sample.
func (s *Sample[T]) PopulationStdDev() float64 { return math.Sqrt(s.m2 / float64(max(1, s.n))) }

// RecentMedian is the median of about the last n values: cheap enough to show while more come in.
func (s *Sample[T]) RecentMedian(n int) T {
	if s.buckets != nil {
		return s.Quantiles(50)[0]
	}
	recent := Sample[T]{values: slices.Clone(s.values[max(0, len(s.values)-n):]), unsorted: true}
	recent.n = uint64(len(recent.values))
	return recent.Quantiles(50)[0]
}

// Ranks gives the value of rank k from 0. The sample must not change while the function is in use.
func (s *Sample[T]) Ranks() func(k int) float64 { return s.ranks(middle) }

// EvenRanks is Ranks for the ends of intervals: the values of a bucket are taken as evenly spread, because its middle may lie
// outside of a narrow interval.
func (s *Sample[T]) EvenRanks() func(k int) float64 { return s.ranks(evenly) }

func (s *Sample[T]) ranks(choose func(low, high float64, place, n uint64) float64) func(k int) float64 {
	if s.buckets != nil {
		return s.buckets.ranks(float64(s.min), float64(s.max), choose)
	}
	if s.unsorted {
		sortValues(s.values)
		s.unsorted = false
	}
	return func(k int) float64 { return float64(s.values[k]) }
}

// Quantiles are percentiles, which may come in any order; see Interpolate. Whole values are rounded.
func (s *Sample[T]) Quantiles(ps ...float64) []T {
	out := make([]T, len(ps))
	for i, v := range quantiles(int(s.n), s.Ranks(), ps) {
		out[i] = round[T](v)
	}
	return out
}

// NearestRanks are percentiles without interpolation; see NearestRank.
func (s *Sample[T]) NearestRanks(ps ...float64) []T {
	out, at := make([]T, len(ps)), s.Ranks()
	for i, p := range ps {
		if s.n > 0 {
			out[i] = round[T](at(NearestRank(p, int(s.n))))
		}
	}
	return out
}

func round[T int64 | float64](v float64) T {
	if _, whole := any(T(0)).(int64); whole {
		v = math.Round(v)
	}
	return T(v)
}

// Octaves is the distribution of a sample of whole values over the buckets of Octave.
func (s *Sample[T]) Octaves() []uint64 {
	b := s.buckets
	if b == nil {
		b = &Buckets[uint64]{}
		for _, v := range s.values {
			b.Add(float64(v), 1)
		}
	}
	return b.Octaves()
}
