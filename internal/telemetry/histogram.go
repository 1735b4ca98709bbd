package telemetry

import (
	"math"

	"github.com/redline-bench/redline/internal/stats"
)

// Scale is the resolution of Exponential: 2^Scale buckets in each doubling, each 2.2 % wide. OpenTelemetry calls it scale,
// Prometheus schema.
const Scale = 5

// Histogram is a distribution of times. It is kept in finer buckets than it is reported in, which need no logarithm per request.
type Histogram struct {
	buckets  stats.Buckets[uint64]
	sum      int64
	min, max int64
}

func (h *Histogram) add(ns int64) {
	if h.buckets.Count() == 0 {
		h.min = ns
	}
	h.min, h.max = min(h.min, ns), max(h.max, ns)
	h.sum += ns
	h.buckets.Add(float64(ns), 1)
}

// Count is the number of times.
func (h *Histogram) Count() uint64 { return h.buckets.Count() }

// Exponential is a histogram in seconds whose bucket i, from Offset on, holds the values above 2^(i/2^Scale) and up to
// 2^((i+1)/2^Scale). Zeros are the values of at most 0.
type Exponential struct {
	Count, Zeros  uint64
	Sum, Min, Max float64
	Offset        int
	Counts        []uint64
}

const nsPerSecond = 1e9

// Exponential converts to base-2 exponential buckets. A value that lies within 0.1 % of a bucket's edge may be counted in the
// bucket beside it.
func (h *Histogram) Exponential() Exponential {
	e := Exponential{
		Count: h.buckets.Count(), Zeros: h.buckets.Zeros(), Sum: float64(h.sum) / nsPerSecond, Min: float64(h.min) / nsPerSecond, Max: float64(h.max) / nsPerSecond,
	}
	for middle, n := range h.buckets.All() {
		i := int(math.Ceil(math.Log2(middle/nsPerSecond)*(1<<Scale))) - 1
		if len(e.Counts) == 0 {
			e.Offset = i
		}
		for len(e.Counts) <= i-e.Offset {
			e.Counts = append(e.Counts, 0)
		}
		e.Counts[i-e.Offset] += n
	}
	return e
}
