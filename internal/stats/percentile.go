package stats

import "math"

// Interpolate is percentile p of n ascending values, of which at gives the one of rank k: linear between the two nearest of
// rank p/100·(n-1). It is the one definition of a percentile here, and numpy's. Infinite values have no middle: next to one,
// the percentile is infinite.
func Interpolate(p float64, n int, at func(k int) float64) float64 {
	x := p / 100 * float64(n-1)
	k := int(x)
	t := x - float64(k)
	if k >= n-1 || t == 0 {
		return at(min(k, n-1))
	}
	a, b := at(k), at(k+1)
	switch {
	case math.IsInf(b, 1):
		return b
	case t >= 0.5: // from the nearer side, as numpy: the result is the same from both
		return b - (b-a)*(1-t)
	}
	return a + (b-a)*t
}

// NearestRank is the rank, from 0, of percentile p of n ascending values, rounded to the nearest.
func NearestRank(p float64, n int) int { return int(p/100*float64(n-1) + 0.5) }

// quantiles are percentiles of n values; 0 where there are none.
func quantiles(n int, at func(k int) float64, ps []float64) []float64 {
	out := make([]float64, len(ps))
	for i, p := range ps {
		if n > 0 {
			out[i] = Interpolate(p, n, at)
		}
	}
	return out
}
