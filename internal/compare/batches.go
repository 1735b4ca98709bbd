package compare

import (
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// ofBatches returns the error of a number, computed from the batches of its run; nil if they do not show it.
func (q quantiles) ofBatches(batches []result.Batch, name string) reach {
	if len(batches) < 2 {
		return nil
	}
	if name == "throughput" {
		return q.ofRatio(batches, func(b *result.Batch) (float64, float64) { return float64(b.Ended), float64(b.DurationNs) })
	}
	if name == "avg" {
		return q.ofRatio(batches, func(b *result.Batch) (float64, float64) { return float64(b.SumNs), float64(b.Ended) })
	}
	if p, ok := percentile(name); ok {
		return q.ofPercentile(batches, p)
	}
	return nil
}

// ofRatio returns the error of Σabove ÷ Σbelow: batches vary around this ratio, and the squares of their deviations add up. A
// long batch counts more than a short one.
func (q quantiles) ofRatio(batches []result.Batch, parts func(*result.Batch) (above, below float64)) reach {
	var above, below float64
	for i := range batches {
		a, b := parts(&batches[i])
		above, below = above+a, below+b
	}
	if above <= 0 || below <= 0 {
		return nil
	}
	off := make([]float64, len(batches))
	for i := range batches {
		a, b := parts(&batches[i])
		off[i] = a - above/below*b
	}
	se := rootSum(off) / above
	df := float64(len(batches) - 1)
	return func(confidence float64) (float64, float64) {
		d := q.at(confidence, df) * se
		return d, d
	}
}

// rootSum is the standard error of the sum of batches, from their deviations, whose sum is 0.
func rootSum(off []float64) float64 {
	sum := 0.0
	for _, d := range off {
		sum += d * d
	}
	k := float64(len(off))
	return math.Sqrt(sum * k / (k - 1))
}

// ofPercentile returns the error of percentile p of all requests together, by order statistics. The number of requests beyond
// the true percentile is uncertain: at least as much as a binomial count, and as much as the counts of the batches vary. The
// requests at the bounds of that number are the bounds of the percentile. If less than one request would be beyond it, there
// is no upper bound.
func (q quantiles) ofPercentile(batches []result.Batch, p float64) reach {
	all := histogramOf(batches...)
	n, share := all.total, 1-p
	if n*share < tailRequests {
		return nil
	}
	at := all.valueWithAbove(n * share)
	off := make([]float64, len(batches))
	for i := range batches {
		h := histogramOf(batches[i])
		off[i] = h.above(at) - share*h.total
	}
	batchError, df := rootSum(off), float64(len(batches)-1)
	binomial := math.Sqrt(n * p * share)
	return func(confidence float64) (down, up float64) {
		z := q.at(confidence, normal)
		width := max(z*binomial, q.at(confidence, df)*batchError)
		skew := (p - share) * (z*z - 1) / 6 // Cornish and Fisher: a small share is not distributed symmetrically
		down, up = math.Inf(1), math.Inf(1)
		if more := n*share + width + skew; more < n-1 {
			down = math.Log(at / all.valueWithAbove(more))
		}
		if fewer := n*share - width + skew; fewer >= 1 {
			up = math.Log(all.valueWithAbove(fewer) / at)
		}
		return max(0, down), max(0, up)
	}
}

// histogram counts latencies by the buckets of stats.Octave.
type histogram struct {
	counts []float64
	total  float64
}

// histogramOf adds batches. It ignores invalid bucket numbers, as in a damaged file.
func histogramOf(batches ...result.Batch) histogram {
	h := histogram{counts: make([]float64, stats.NumOctave)}
	for i := range batches {
		c := batches[i].Counts
		for j := 0; j+1 < len(c); j += 2 {
			if c[j] < stats.NumOctave {
				h.counts[c[j]] += float64(c[j+1])
				h.total += float64(c[j+1])
			}
		}
	}
	return h
}

// edges are the bounds of a bucket.
func edges(bucket int) (low, high float64) {
	if bucket > 0 {
		low = float64(stats.OctaveEnd(bucket - 1))
	}
	return low, float64(stats.OctaveEnd(bucket))
}

// valueWithAbove returns the latency with so many latencies above it, assuming an even distribution within a bucket.
func (h *histogram) valueWithAbove(above float64) float64 {
	seen := 0.0
	for i, c := range slices.Backward(h.counts) {
		if c > 0 && seen+c >= above {
			low, high := edges(i)
			return high - (above-seen)/c*(high-low)
		}
		seen += c
	}
	return 0
}

// above is how many latencies are above v.
func (h *histogram) above(v float64) float64 {
	i := stats.Octave(int64(math.Ceil(v)))
	low, high := edges(i)
	n := 0.0
	if high > low {
		n = h.counts[i] * (high - v) / (high - low)
	}
	for _, c := range h.counts[i+1:] {
		n += c
	}
	return n
}
