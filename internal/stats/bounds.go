package stats

import "math"

// Bounds is a confidence interval. High is infinite where the sample is too small for an upper end: the value is at least Low.
type Bounds struct{ Low, High float64 }

// MeanBounds is the interval of the mean of a series in its order, by batch means and Student's t, corrected for skewness.
// Batches are at least least values long. There is none where the series is too short for its own correlation.
func MeanBounds(values []float64, least int, level float64) (Bounds, bool) {
	s, ok := spreadOf(values, least)
	if !ok {
		return Bounds{}, false
	}
	mean, _, _, _ := moments(values)
	low, high := s.around(level)
	return Bounds{mean + low, mean + high}, true
}

// RatioBounds is the interval of Σcounts ÷ Σtimes: all ratios r for which the mean of count - r·time may be 0.
func RatioBounds(counts, times []float64, least int, level float64) (Bounds, bool) {
	ratio := total(counts) / total(times)
	buffer := make([]float64, len(counts))
	rest := func(r float64) []float64 {
		out := buffer[:len(counts)]
		for i := range out {
			out[i] = counts[i] - r*times[i]
		}
		return out
	}
	s, ok := spreadOf(rest(ratio), least)
	if !ok || math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return Bounds{}, false
	}
	batched := [2][]float64{batchMeans(counts, s.size), batchMeans(times, s.size)}
	counts, times = batched[0], batched[1]
	_, variance, _, _ := moments(rest(ratio))
	t := TQuantile(level, s.df)
	// ends is the interval of the mean rest at r. The correlation stays the one at the measured ratio.
	ends := func(r float64) (low, high float64) {
		at := s
		mean, v, skewness, _ := moments(rest(r))
		at.skewness = skewness
		if variance > 0 {
			at.variance *= v / variance
		}
		low, high = at.within(t)
		return mean + low, mean + high
	}
	b := Bounds{Low: bisect(0, ratio, func(r float64) bool { low, _ := ends(r); return low > 0 }), High: math.Inf(1)}
	for factor := 2.0; factor < 1e6; factor *= 2 {
		if _, high := ends(ratio * factor); high < 0 {
			b.High = bisect(ratio, ratio*factor, func(r float64) bool { _, high := ends(r); return high > 0 })
			break
		}
	}
	return b, true
}

func total(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

// bisect finds where below stops to hold between low and high.
func bisect(low, high float64, below func(x float64) bool) float64 {
	for range 60 {
		if mid := (low + high) / 2; below(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// around is the interval of the mean minus the mean.
func (s spread) around(level float64) (low, high float64) { return s.within(TQuantile(level, s.df)) }

// within is the same for a quantile of Student's t.
func (s spread) within(t float64) (low, high float64) {
	deviation := math.Sqrt(s.variance * s.inflation / float64(s.count))
	// The skewness of a small sample is smaller than that of what it comes from.
	skewness := s.skewness * (1 + 10/float64(s.count*s.size))
	beta := skewness / 6 / math.Sqrt(float64(s.count)/s.inflation)
	return -unskew(t, beta) * deviation, -unskew(-t, beta) * deviation
}

// unskew turns a quantile of Student's t into one of the t of a skewed mean (Willink's and Hall's transformation).
func unskew(t, beta float64) float64 {
	if math.Abs(beta) < 1e-4 {
		return t
	}
	return (math.Cbrt(1+6*beta*(t-beta)) - 1) / (2 * beta)
}
