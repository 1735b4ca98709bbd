package stats

import (
	"cmp"
	"math"
	"slices"
)

// The choice of batches was made by simulation: TestCoverage prints the coverage that it leads to.
const (
	mostBatches = 200 // at first; batches grow from there while their means are correlated
	manyBatches = 50  // batches do not grow beyond what leaves so many
	fewBatches  = 10  // fewer do not show whether they are correlated
	minBatches  = 4
	// correlated is the correlation of neighboring batch means from which batches grow.
	correlated = 0.4
	// minIndependent is how many independent values a series must be worth. A shorter one does not know its own spread.
	minIndependent = 6
	// manyIndependent is how many a series must be worth for batches to grow.
	manyIndependent = 20
)

// spread is what the batch means of a series tell about its mean.
type spread struct {
	size, count int     // of the batches
	variance    float64 // of one batch mean, in an endless series
	skewness    float64 // of the batch means
	// inflation is the variance of the mean of all batches, as a multiple of what it is for independent ones.
	inflation float64
	df        float64 // degrees of freedom of the estimate
}

// spreadOf estimates the spread of a series in its order. Batches are a multiple of least values long. It is not ok where
// the series is too short for its own correlation, or drifts.
func spreadOf(values []float64, least int) (s spread, ok bool) {
	least = max(1, least)
	size := (len(values) + mostBatches*least - 1) / (mostBatches * least) * least
	if count := len(values) / max(1, size); count < fewBatches {
		return independent(values, size)
	}
	means := batchMeans(values, size)
	if constant(means, values) {
		return spread{size: size, count: len(means), inflation: 1, df: float64(len(means) - 1)}, true
	}
	if drifts(means) {
		return s, false
	}
	for {
		var rho float64
		s, rho, ok = correlatedBatches(values, size)
		if !ok || rho <= correlated || s.count/2 < manyBatches || float64(s.count)/s.inflation < manyIndependent {
			return s, ok
		}
		size *= 2
	}
}

// constant tells whether batch means differ by no more than rounding errors, whose correlation means nothing.
func constant(means, values []float64) bool {
	scale := max(math.Abs(slices.Max(values)), math.Abs(slices.Min(values)))
	return slices.Max(means)-slices.Min(means) <= 1e-9*scale
}

// drifts tells whether the mean of a series moves over the whole of it: the means of its parts vary far more than the
// values within the parts and the correlation of their neighbors explain. A series that has seen its slow changes often
// enough does not drift.
func drifts(values []float64) bool {
	const (
		parts = 8
		least = 3 // values of a part
		far   = 8 // equal parts differ so much in fewer than one of ten million series
	)
	size := len(values) / parts
	if size < least {
		return false
	}
	var squares, products float64
	means := batchMeans(values[:parts*size], size)
	for i, mean := range means {
		before := 0.0
		for _, v := range values[i*size : (i+1)*size] {
			squares += (v - mean) * (v - mean)
			products += (v - mean) * before
			before = v - mean
		}
	}
	rho := max(0, products/max(squares, math.SmallestNonzeroFloat64))
	_, between, _, _ := moments(means)
	within := squares / float64(parts*(size-1)) * (1 + rho) / (1 - rho)
	return between*float64(size) > far*within
}

// correlatedBatches takes batch means as a first-order autoregression: with the correlation rho of neighbors, the variance of
// their mean is (1+rho)/(1-rho) times that of independent ones.
func correlatedBatches(values []float64, size int) (s spread, rho float64, ok bool) {
	means := batchMeans(values, size)
	k := float64(len(means))
	_, variance, skewness, neighbors := moments(means)
	_, _, _, ranked := moments(ranks(means))       // a single outlier hides a correlation, but not that of the ranks
	rho = (k*max(neighbors, ranked) + 1) / (k - 4) // an estimate is too low by (1+4·rho)/k
	if rho >= 1 {
		return s, rho, false
	}
	s = spread{size: size, count: len(means), skewness: skewness, inflation: (1 + rho) / (1 - rho)}
	if k/s.inflation < minIndependent {
		return s, rho, false
	}
	s.variance = variance * (k - 1) / (k - s.inflation) // around their own mean the means vary too little
	s.df = k / (1 + 2*s.inflation)
	return s, rho, true
}

// independent takes a few batches as independent, where the values themselves are correlated over less than a batch.
func independent(values []float64, size int) (s spread, ok bool) {
	if size == 0 || len(values)/size < minBatches {
		return s, false
	}
	n := float64(len(values))
	_, _, _, neighbors := moments(ranks(values))
	if rho := (n*neighbors + 1) / (n - 4); 2*(1+rho) > float64(size)*(1-rho) {
		return s, false
	}
	means := batchMeans(values, size)
	_, variance, skewness, _ := moments(means)
	return spread{size: size, count: len(means), variance: variance, skewness: skewness, inflation: 1, df: float64(len(means) - 1)}, true
}

// batchMeans are the means of whole batches from the start.
func batchMeans(values []float64, size int) []float64 {
	out := make([]float64, len(values)/size)
	for i := range out {
		sum := 0.0
		for _, v := range values[i*size : (i+1)*size] {
			sum += v
		}
		out[i] = sum / float64(size)
	}
	return out
}

// moments are the mean, the variance (n-1), the skewness and the correlation of neighbors.
func moments(values []float64) (mean, variance, skewness, neighbors float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	var squares, cubes, products, before float64
	for _, v := range values {
		d := v - mean
		squares += d * d
		cubes += d * d * d
		products += d * before
		before = d
	}
	if squares <= 0 {
		return mean, 0, 0, 0
	}
	return mean, squares / (n - 1), cubes / n / math.Pow(squares/n, 1.5), products / squares
}

// ranks are the places of values in their sorted order; equal values share the middle of theirs.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return out
}
