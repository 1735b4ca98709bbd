package stats

import "math"

// TTail is the probability that |t| exceeds x in Student's distribution with df degrees of freedom.
func TTail(x, df float64) float64 {
	return incompleteBeta(df/2, 0.5, df/(df+x*x))
}

// TQuantile is the x that |t| stays below with the given probability, which must be below 1.
func TQuantile(confidence, df float64) float64 {
	low, high := 0.0, 1.0
	for TTail(high, df) > 1-confidence {
		if low, high = high, 2*high; math.IsInf(high, 1) {
			return high
		}
	}
	// Newton's method by the density, kept between the bounds.
	half, _ := math.Lgamma((df + 1) / 2)
	whole, _ := math.Lgamma(df / 2)
	scale := 2 * math.Exp(half-whole) / math.Sqrt(df*math.Pi)
	x := (low + high) / 2
	for range 100 {
		off := TTail(x, df) - (1 - confidence)
		if off > 0 {
			low = x
		} else {
			high = x
		}
		next := x + off/(scale*math.Pow(1+x*x/df, -(df+1)/2))
		if next <= low || next >= high {
			next = (low + high) / 2
		}
		if math.Abs(next-x) <= 1e-14*x {
			return next
		}
		x = next
	}
	return x
}

// incompleteBeta is the regularized incomplete beta function, by its continued fraction (Lentz's method).
func incompleteBeta(a, b, x float64) float64 {
	if x <= 0 {
		return 0
	}
	if x >= 1 {
		return 1
	}
	if x > (a+1)/(a+b+2) { // the fraction converges fast on the other side
		return 1 - incompleteBeta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	const tiny, enough, most = 1e-300, 1e-14, 500
	c, d, f := 1.0, 0.0, 1.0
	for m := range most {
		k := float64(m / 2)
		var term float64
		switch {
		case m == 0:
			term = 1
		case m%2 == 0:
			term = k * (b - k) * x / ((a + 2*k - 1) * (a + 2*k))
		default:
			term = -(a + k) * (a + b + k) * x / ((a + 2*k) * (a + 2*k + 1))
		}
		d = 1 + term*d
		if math.Abs(d) < tiny {
			d = tiny
		}
		d = 1 / d
		c = 1 + term/c
		if math.Abs(c) < tiny {
			c = tiny
		}
		f *= c * d
		if m > 0 && math.Abs(1-c*d) < enough {
			break
		}
	}
	return front * (f - 1)
}
