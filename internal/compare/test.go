package compare

import (
	"math"
	"slices"
)

// Test is the outcome of holding one side's estimates against the other's.
type Test struct {
	A, B float64 `json:"-"`
	// Change is B/A-1; Low and High bound it with the confidence asked for.
	Change, Low, High float64
	P                 float64 // probability of such a difference, or a larger one, without a true one
	Judged            bool    // false where neither side tells how uncertain it is
}

// differ compares the logarithms of both sides: latencies differ by factors, not by amounts. It is a moderated t-test:
// the variance of a side's mean is what its runs show of themselves plus the drift between runs, and the drift is
// learned from the runs, starting from RunDrift with the weight of driftWeight runs.
func differ(a, b []estimate, confidence float64) Test {
	t := Test{A: mean(values(a)), B: mean(values(b))}
	if slices.Min(values(a)) <= 0 || slices.Min(values(b)) <= 0 { // nothing has no logarithm
		if t.A > 0 {
			t.Change = t.B/t.A - 1
		}
		return t
	}
	la, sa := logs(a)
	lb, sb := logs(b)
	diff := mean(lb) - mean(la)
	t.Change = math.Expm1(diff)
	t.Judged = sa.known || sb.known || len(a) > 1 && len(b) > 1
	if !t.Judged {
		return t
	}
	// Spread between the runs of each side, beyond what they show within.
	between := float64(len(a)-1)*variance(la) + float64(len(b)-1)*variance(lb)
	within := float64(len(a)-1)*sa.mean + float64(len(b)-1)*sb.mean
	runs := float64(len(a) + len(b) - 2)
	drift := (driftWeight*RunDrift*RunDrift + max(0, between-within)) / (driftWeight + runs)
	va, vb := (sa.mean+drift)/float64(len(a)), (sb.mean+drift)/float64(len(b))
	v := va + vb
	// Satterthwaite: the degrees of freedom of a sum of variances that are known unequally well.
	df := v * v / (square(drift/float64(len(a))+drift/float64(len(b)))/(driftWeight+runs) +
		square(sa.mean/float64(len(a)))/max(1, sa.df*float64(len(a))) + square(sb.mean/float64(len(b)))/max(1, sb.df*float64(len(b))))
	se := math.Sqrt(v)
	t.P = tTail(math.Abs(diff)/se, df)
	q := tQuantile(confidence, df) * se
	t.Low, t.High = math.Expm1(diff-q), math.Expm1(diff+q)
	return t
}

func square(x float64) float64 { return x * x }

func values(es []estimate) []float64 {
	out := make([]float64, len(es))
	for i, e := range es {
		out[i] = e.value
	}
	return out
}

// spread is the variance of one run's logarithm from within it, averaged over runs.
type spread struct {
	mean, df float64
	known    bool
}

func logs(es []estimate) ([]float64, spread) {
	out := make([]float64, len(es))
	var s spread
	for i, e := range es {
		out[i] = math.Log(e.value)
		if e.df > 0 {
			s.known = true
			s.mean += square(e.se/e.value) / float64(len(es))
			s.df += e.df / float64(len(es))
		}
	}
	return out, s
}

// tTail is the probability that |t| exceeds x with df degrees of freedom.
func tTail(x, df float64) float64 {
	return incompleteBeta(df/2, 0.5, df/(df+x*x))
}

// tQuantile is the x that |t| stays below with the given probability.
func tQuantile(confidence, df float64) float64 {
	low, high := 0.0, 1e3
	for range 100 {
		mid := (low + high) / 2
		if tTail(mid, df) > 1-confidence {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
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
