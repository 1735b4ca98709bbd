package compare

import (
	"math"

	"github.com/redline-bench/redline/internal/convert"
)

const (
	// RunDrift is the assumed difference between two equal runs on one machine, as a relative standard deviation. Its causes
	// are caches, placement and other programs. One run on each side cannot show it; several runs replace the assumption.
	RunDrift = 0.006
	// precision is the smallest variation between runs that is used: percentiles of long runs are exact to 0.1 %, and files of
	// other tools are rounded.
	precision = 0.001
)

// contrast is the change of one number from side A to side B, as a logarithm: latencies differ by factors, not by
// amounts.
type contrast struct {
	a, b  float64 // means of the runs
	log   float64
	reach reach // nil if unknown
}

// contrastOf compares the estimates of two sides. With one run on each side, the errors of both and the assumed drift add up,
// separately for each bound. With several runs on a side it is Student's t-test on the runs, which include their errors and
// the true drift; both sides are assumed to vary equally from run to run.
func (q quantiles) contrastOf(a, b []estimate) contrast {
	c := contrast{a: mean(values(a)), b: mean(values(b))}
	la, lb := logs(a), logs(b)
	if la == nil || lb == nil {
		return c
	}
	c.log = mean(lb) - mean(la)
	if len(a) == 1 && len(b) == 1 {
		c.reach = q.single(a[0].reach, b[0].reach)
		return c
	}
	df := float64(len(a) + len(b) - 2)
	spread := max(precision*precision, (squares(la)+squares(lb))/df)
	se := math.Sqrt(spread * (1/float64(len(a)) + 1/float64(len(b))))
	c.reach = func(confidence float64) (float64, float64) {
		d := q.at(confidence, df) * se
		return d, d
	}
	return c
}

func (q quantiles) single(a, b reach) reach {
	if a == nil || b == nil {
		return nil
	}
	return func(confidence float64) (down, up float64) {
		drift := q.at(confidence, normal) * RunDrift * math.Sqrt2
		aDown, aUp := a(confidence)
		bDown, bUp := b(confidence)
		return math.Hypot(math.Hypot(bDown, aUp), drift), math.Hypot(math.Hypot(bUp, aDown), drift)
	}
}

// bounds returns the confidence interval of the change, B/A-1; ok is false if one bound is missing.
func (c *contrast) bounds(confidence float64) (low, high float64, ok bool) {
	down, up := c.reach(confidence)
	if math.IsInf(down, 1) || math.IsInf(up, 1) {
		return 0, 0, false
	}
	return math.Expm1(c.log - down), math.Expm1(c.log + up), true
}

// sees reports whether a change of that share would be found in nine of ten comparisons, by a test of this number alone.
func (c *contrast) sees(share, confidence float64) bool {
	const nineOfTen = 0.8 // leaves 10 % on each side
	down, up := c.reach(confidence)
	moreDown, moreUp := c.reach(nineOfTen)
	return max(down, up)+max(moreDown, moreUp) <= math.Log1p(share)
}

func values(es []estimate) []float64 {
	return convert.All(es, func(e estimate) float64 { return e.value })
}

// logs are the logarithms of the values; nil if one has none.
func logs(es []estimate) []float64 {
	out := make([]float64, len(es))
	for i, e := range es {
		if e.value <= 0 {
			return nil
		}
		out[i] = math.Log(e.value)
	}
	return out
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// squares is Σ(x-mean)².
func squares(xs []float64) float64 {
	m, sum := mean(xs), 0.0
	for _, x := range xs {
		sum += (x - m) * (x - m)
	}
	return sum
}
