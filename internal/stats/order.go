package stats

import "math"

// Dependence is how much less a percentile is known than from as many independent values.
type Dependence struct {
	inflation float64 // of the variance of the share of values above the percentile
	df        float64 // degrees of freedom of that estimate; infinite where values are taken as independent
}

// Independent tells whether a series in its order shows no correlation: the variance of its mean rank is not above that of
// independent values by more than the error of that estimate. known is false where the series is too short to tell.
func Independent(values []float64, least int) (yes, known bool) {
	r := ranks(values)
	s, ok := spreadOf(r, least)
	if !ok || s.count < fewBatches {
		return false, ok
	}
	_, variance, _, _ := moments(r)
	return s.variance*s.inflation*float64(s.size) <= variance*(1+2*math.Sqrt(2/s.df)), true
}

// NoDependence is that of independent values.
func NoDependence() Dependence { return Dependence{1, math.Inf(1)} }

// DependenceAt estimates the dependence from how many values were above percentile p, piece by piece: above has the number
// in each of a row of pieces of each values.
func DependenceAt(p float64, above []float64, each, least int) (Dependence, bool) {
	s, ok := spreadOf(above, (least+each-1)/each)
	share := total(above) / float64(len(above)*each) // not 1-p where the threshold is that of the first values
	if !ok || share <= 0 || share >= 1 {
		return Dependence{}, false
	}
	p /= 100
	perValue := s.variance * s.inflation * float64(s.size) / float64(each)
	d := Dependence{inflation: max(1, perValue/(share*(1-share)))}
	// Few independent values in the tail make the estimate rough.
	tail := float64(len(above)*each) / d.inflation * min(p, 1-p)
	d.df = 2 / (2/s.df + 2/tail)
	return d, true
}

// QuantileBounds is the interval of percentile p of n values, of which at gives the one of rank k from 0: between two order
// statistics, by the binomial distribution of how many values lie below the percentile. Correlated values count as fewer.
func QuantileBounds(p float64, n int, at func(k int) float64, d Dependence, level float64) (Bounds, bool) {
	p /= 100
	worth := float64(n) / d.inflation
	if !math.IsInf(d.df, 1) {
		t := TQuantile(level, 1e6) / TQuantile(level, d.df)
		worth *= t * t
	}
	tail := (1 - level) / 2
	if math.Pow(1-p, worth) > tail { // even the smallest value may be above the percentile
		return Bounds{}, false
	}
	value := func(rank float64) float64 { // from 1 to n, with a fraction
		rank = min(max(1, rank/(worth+1)*float64(n+1)), float64(n))
		k := int(rank)
		v := at(k - 1)
		if k < n {
			v += (rank - float64(k)) * (at(k) - v)
		}
		return v
	}
	if math.Pow(p, worth) > tail { // even the largest value may be below the percentile
		return Bounds{value(rankBelow(p, worth, 1-2*tail)), math.Inf(1)}, true
	}
	return Bounds{value(rankBelow(p, worth, 1-tail)), value(rankBelow(p, worth, tail))}, true
}

// rankBelow is the rank, with a fraction, whose order statistic among n values lies below percentile p with a probability.
func rankBelow(p, n, probability float64) float64 {
	return bisect(0, n+1, func(k float64) bool { return incompleteBeta(k, n+1-k, p) > probability })
}
