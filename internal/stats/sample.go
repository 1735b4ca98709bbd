// Package stats summarizes sets of numbers: exact while they are few enough to keep, by histogram beyond that.
package stats

import (
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// ExactLimit is how many values a Sample keeps one by one. Beyond it a histogram takes over whose relative
// error is at most 0.1 %, so that memory does not grow with the number of requests.
const ExactLimit = 1 << 18

// maxTracked bounds the histogram: an hour in nanoseconds. Longer values are counted as an hour in the
// percentiles; minimum, maximum, mean and deviation stay exact.
const maxTracked = int64(3600e9)

// Sample gathers non-negative values. The zero value is ready.
type Sample struct {
	values []int64
	hist   *hdrhistogram.Histogram
	n      uint64
	sum    int64
	min    int64
	max    int64
	// Welford's running mean and sum of squared deviations: no overflow, no cancellation.
	mean, m2 float64
}

// Add takes one value in.
func (s *Sample) Add(v int64) {
	if s.n == 0 || v < s.min {
		s.min = v
	}
	if s.n == 0 || v > s.max {
		s.max = v
	}
	s.n++
	s.sum += v
	d := float64(v) - s.mean
	s.mean += d / float64(s.n)
	s.m2 += d * (float64(v) - s.mean)
	s.keep(v)
}

func (s *Sample) keep(v int64) {
	if s.hist == nil && len(s.values) < ExactLimit {
		s.values = append(s.values, v)
		return
	}
	s.spill()
	record(s.hist, v)
}

// spill moves the kept values into the histogram.
func (s *Sample) spill() {
	if s.hist == nil {
		s.hist = hdrhistogram.New(1, maxTracked, 3)
	}
	for _, v := range s.values {
		record(s.hist, v)
	}
	s.values = nil
}

func record(h *hdrhistogram.Histogram, v int64) {
	// RecordValue only fails outside of the range that the clamp ensures.
	_ = h.RecordValue(max(1, min(v, maxTracked)))
}

// Merge takes all of o in; o stays as it is.
func (s *Sample) Merge(o *Sample) {
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
	if s.hist == nil && o.hist == nil && len(s.values)+len(o.values) <= ExactLimit*3 {
		s.values = append(s.values, o.values...)
		return
	}
	s.spill()
	if o.hist != nil {
		s.hist.Merge(o.hist)
	}
	for _, v := range o.values {
		record(s.hist, v)
	}
}

// Count is the number of values.
func (s *Sample) Count() uint64 { return s.n }

// Exact tells whether Quantile looks at the values themselves.
func (s *Sample) Exact() bool { return s.hist == nil }

// Sum is the sum of all values. It, Min and Max are 0 for an empty sample.
func (s *Sample) Sum() int64 { return s.sum }

// Min is the smallest value.
func (s *Sample) Min() int64 { return s.min }

// Max is the largest value.
func (s *Sample) Max() int64 { return s.max }

// Mean is the sum divided by the count, rounded down; 0 for an empty sample.
func (s *Sample) Mean() int64 {
	if s.n == 0 {
		return 0
	}
	return s.sum / int64(s.n)
}

// StdDev is the sample standard deviation sqrt(Σ(v-mean)²/(n-1)); 0 for fewer than two values.
func (s *Sample) StdDev() int64 {
	if s.n < 2 {
		return 0
	}
	return int64(math.Sqrt(s.m2 / float64(s.n-1)))
}

// RecentMedian is the median of about the last n values: cheap enough to show while more come in.
func (s *Sample) RecentMedian(n int) int64 {
	if s.hist != nil {
		return s.hist.ValueAtPercentile(50)
	}
	if len(s.values) == 0 {
		return 0
	}
	recent := slices.Clone(s.values[max(0, len(s.values)-n):])
	slices.Sort(recent)
	return recent[len(recent)/2]
}

// Sorted sorts the values and returns the function that gives the one at index i of their order. The sample must not change
// while that function is in use.
func (s *Sample) Sorted() func(i int) int64 {
	if s.hist == nil {
		sortValues(s.values)
		return func(i int) int64 { return s.values[i] }
	}
	return func(i int) int64 { return s.fromHistogram(100 * float64(i) / float64(s.n-1)) }
}

// fromHistogram is percentile p of more values than are kept.
func (s *Sample) fromHistogram(p float64) int64 {
	return max(s.min, min(s.hist.ValueAtPercentile(p), s.max))
}

// Quantiles returns the values at the given percentiles, which may come in any order. Percentile p of the n
// sorted values is the one at index trunc(p/100·(n-1) + 0.5).
func (s *Sample) Quantiles(ps ...float64) []int64 {
	out := make([]int64, len(ps))
	if s.n == 0 {
		return out
	}
	if s.hist == nil {
		sortValues(s.values)
	}
	for i, p := range ps {
		if s.hist == nil {
			out[i] = s.values[int(p/100*float64(len(s.values)-1)+0.5)]
			continue
		}
		out[i] = s.fromHistogram(p)
	}
	return out
}
