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

// ShareBounds is the interval of Clopper and Pearson for the probability of a success, of which k were seen in n independent
// trials.
func ShareBounds(k, n, level float64) Bounds {
	b := Bounds{Low: 0, High: 1}
	if n <= 0 {
		return b
	}
	tail := (1 - level) / 2
	if k > 0 {
		b.Low = bisect(0, 1, func(p float64) bool { return BinomialTail(k, n, p) < tail })
	}
	if k < n {
		b.High = bisect(0, 1, func(p float64) bool { return BinomialTail(k+1, n, p) < 1-tail })
	}
	return b
}
