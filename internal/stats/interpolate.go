package stats

// Interpolate is percentile p of n ascending values, of which at gives the one of rank k: linear between the two
// nearest of rank p/100·(n-1), as numpy has it.
func Interpolate(p float64, n int, at func(k int) float64) float64 {
	x := p / 100 * float64(n-1)
	k := int(x)
	if k >= n-1 {
		return at(n - 1)
	}
	a, b, t := at(k), at(k+1), x-float64(k)
	if t >= 0.5 { // from the nearer side, as numpy: the result is the same from both
		return b - (b-a)*(1-t)
	}
	return a + (b-a)*t
}
