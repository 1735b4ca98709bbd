package result

import "math"

// Fewest is the smallest number of samples that a percentile needs: with fewer, no sample is beyond it, and the number would
// be the largest sample, or the smallest for percentiles below 50.
func Fewest(p float64) uint64 {
	beyond := min(p, 100-p)
	if beyond <= 0 {
		return 1
	}
	return uint64(math.Ceil(100/beyond - 1e-6))
}

// Enough tells whether n samples are enough for a percentile.
func Enough(p float64, n uint64) bool { return n >= Fewest(p) }
