// Package law tells whether random numbers follow a distribution. Tests give it numbers from fixed seeds, so that an
// outcome is the same on every run; the critical values are those of one chance in a million, so that another seed fails
// only where the law is wrong.
package law

import (
	"math"
	"slices"
	"testing"
)

// critical is Kolmogorov's critical value of √n·D: a sample of the right law exceeds it with a probability of
// 2·exp(-2·critical²) = 1e-6.
const critical = 2.694

// Deviations is how many standard deviations a normal variable is from its mean with a probability of 1e-6.
const Deviations = 4.892

// Fits fails the test unless the values follow the distribution function cdf, by the test of Kolmogorov and Smirnov.
func Fits(t *testing.T, what string, values []float64, cdf func(x float64) float64) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(values))
	n := float64(len(sorted))
	far := 0.0
	for i, x := range sorted {
		p := cdf(x)
		far = max(far, p-float64(i)/n, float64(i+1)/n-p)
	}
	if math.Sqrt(n)*far > critical {
		t.Errorf("%s: the distribution is %g from the one it should be, at most %g is chance", what, far, critical/math.Sqrt(n))
	}
}

// Exponential is the distribution function of gaps with a mean of one that know nothing of each other.
func Exponential(x float64) float64 { return -math.Expm1(-x) }

// Uniform is the distribution function on [0, 1].
func Uniform(x float64) float64 { return min(1, max(0, x)) }

// Erlang is the distribution function of the mean of k exponential gaps, that is of a gamma distribution with the shape k
// and a mean of one.
func Erlang(k int) func(x float64) float64 {
	return func(x float64) float64 {
		term, sum := 1.0, 0.0
		for i := range k {
			sum += term
			term *= float64(k) * x / float64(i+1)
		}
		return 1 - math.Exp(-float64(k)*x)*sum
	}
}

// Near is how far from zero the correlation of n independent pairs may be.
func Near(n int) float64 { return Deviations / math.Sqrt(float64(n)) }

// Correlation is that of pairs of values.
func Correlation(a, b []float64) float64 {
	ma, mb := mean(a), mean(b)
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - ma) * (b[i] - mb)
		aa += (a[i] - ma) * (a[i] - ma)
		bb += (b[i] - mb) * (b[i] - mb)
	}
	return ab / math.Sqrt(aa*bb)
}

// Independent fails the test where a value says something of one of the next four.
func Independent(t *testing.T, what string, x []float64) {
	t.Helper()
	for lag := 1; lag <= 4; lag++ {
		if c := Correlation(x[:len(x)-lag], x[lag:]); math.Abs(c) > Near(len(x)-lag) {
			t.Errorf("%s: values %d apart have a correlation of %g, at most %g is chance", what, lag, c, Near(len(x)-lag))
		}
	}
}

// PoissonCounts fails the test unless the number of arrivals in stretches of ten mean gaps has a mean and a variance of
// ten. The gaps are in units of their mean.
func PoissonCounts(t *testing.T, gaps []float64) {
	t.Helper()
	const stretch = 10.0
	var counts []float64
	at := 0.0
	for _, gap := range gaps {
		at += gap
		for int(at/stretch) >= len(counts) {
			counts = append(counts, 0)
		}
		counts[int(at/stretch)]++
	}
	counts = counts[:len(counts)-1] // the last one is not complete
	n, m := float64(len(counts)), mean(counts)
	var squares float64
	for _, c := range counts {
		squares += (c - m) * (c - m)
	}
	variance := squares / (n - 1)
	if math.Abs(m-stretch) > Deviations*math.Sqrt(stretch/n) {
		t.Errorf("%g arrivals in the time of %g", m, stretch)
	}
	// The variance of n counts has a standard error of about mean·√(2/n + 1/(n·mean)).
	if math.Abs(variance-stretch) > Deviations*stretch*math.Sqrt(2/n+1/(n*stretch)) {
		t.Errorf("the number of arrivals has a variance of %g and a mean of %g", variance, m)
	}
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
