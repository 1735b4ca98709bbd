package stats

// BinomialTail is the probability that at least k of n trials succeed, each with probability p. k and n may be
// fractions, as effective numbers are.
func BinomialTail(k, n, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return incompleteBeta(k, n-k+1, p)
}
