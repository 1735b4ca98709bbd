package compare

import (
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/stats"
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
	t.P = stats.TTail(math.Abs(diff)/se, df)
	q := stats.TQuantile(confidence, df) * se
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
