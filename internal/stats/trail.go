package stats

import (
	"math"
	"slices"
)

const (
	trailLimit = 1 << 14 // values that a Trail keeps one by one
	foldLimit  = 1 << 12 // rows that a Fold keeps
)

// Fold keeps rows of numbers in their order, in bounded memory: when it is full, neighbors are added up, which loses nothing
// of the sums of batches.
type Fold struct {
	columns int
	cells   []float64
	each    int // rows of Add that make one kept row
	last    int // rows of Add in the kept row at the end
}

// Add appends a row. All rows have the same number of columns.
func (f *Fold) Add(row ...float64) {
	f.columns = len(row)
	f.each = max(1, f.each)
	if f.last > 0 && f.last < f.each {
		addTo(f.cells[len(f.cells)-f.columns:], row)
		f.last++
		return
	}
	if len(f.cells) == foldLimit*f.columns {
		f.join()
	}
	f.cells = append(f.cells, row...)
	f.last = 1
}

func (f *Fold) join() {
	w := f.columns
	for i := range foldLimit / 2 {
		to := f.cells[i*w : (i+1)*w]
		copy(to, f.cells[2*i*w:])
		addTo(to, f.cells[(2*i+1)*w:(2*i+2)*w])
	}
	f.cells = f.cells[:foldLimit/2*w]
	f.each *= 2
}

func addTo(to, row []float64) {
	for i, v := range row {
		to[i] += v
	}
}

// column has the sums of one column over each kept row, but for a last one that is not whole.
func (f *Fold) column(c int) []float64 {
	if f.columns == 0 {
		return nil
	}
	rows := len(f.cells) / f.columns
	if f.last < f.each {
		rows--
	}
	out := make([]float64, rows)
	for i := range out {
		out[i] = f.cells[i*f.columns+c]
	}
	return out
}

// RatioBounds is the interval of the sum of some columns divided by that of another. Batches are at least least rows long.
func (f *Fold) RatioBounds(over int, least int, level float64, columns ...int) (Bounds, bool) {
	counts := f.column(columns[0])
	for _, c := range columns[1:] {
		addTo(counts, f.column(c))
	}
	return RatioBounds(counts, f.column(over), (least+f.each-1)/max(1, f.each), level)
}

// Trail keeps the values of one quantity in their order, for the intervals of its mean and of some percentiles. Beyond
// trailLimit values it keeps sums, and the number of values above each percentile of the first ones.
type Trail struct {
	percentiles []float64
	values      []float64 // nil when they are in sums
	sums        Fold      // the sum of the values, then how many are above each threshold
	thresholds  []float64
	row         []float64
}

// NewTrail makes an empty trail for the intervals of the mean and of some percentiles.
func NewTrail(percentiles ...float64) *Trail { return &Trail{percentiles: percentiles} }

// Percentiles are those that get intervals.
func (t *Trail) Percentiles() []float64 { return t.percentiles }

// Add takes the next value in; NaN is left out.
func (t *Trail) Add(v float64) {
	switch {
	case math.IsNaN(v):
	case t.thresholds != nil:
		t.fold(v)
	case len(t.values) < trailLimit:
		t.values = append(t.values, v)
	default:
		t.thresholds = t.find()
		t.row = make([]float64, 1+len(t.percentiles))
		for _, v := range t.values {
			t.fold(v)
		}
		t.values = nil
		t.fold(v)
	}
}

// find finds the percentiles of the values.
func (t *Trail) find() []float64 {
	sorted := slices.Sorted(slices.Values(t.values))
	out := make([]float64, len(t.percentiles))
	for i, p := range t.percentiles {
		out[i] = Interpolate(p, len(sorted), func(k int) float64 { return sorted[k] })
	}
	return out
}

func (t *Trail) fold(v float64) {
	t.row[0] = v
	for i, threshold := range t.thresholds {
		t.row[i+1] = 0
		if v > threshold {
			t.row[i+1] = 1
		}
	}
	t.sums.Add(t.row...)
}

// MeanBounds is the interval of the mean. Batches are at least least values long.
func (t *Trail) MeanBounds(least int, level float64) (Bounds, bool) {
	if t.thresholds == nil {
		return MeanBounds(t.values, least, level)
	}
	each := t.sums.each
	b, ok := MeanBounds(t.sums.column(0), (least+each-1)/each, level)
	return Bounds{b.Low / float64(each), b.High / float64(each)}, ok
}

// Dependences are how much less each percentile is known than from independent values, and whether the trail is long enough
// to tell.
func (t *Trail) Dependences(least int) ([]Dependence, []bool) {
	out, known := make([]Dependence, len(t.percentiles)), make([]bool, len(t.percentiles))
	if t.thresholds != nil {
		for i, p := range t.percentiles {
			out[i], known[i] = DependenceAt(p, t.sums.column(i+1), t.sums.each, least)
		}
		return out, known
	}
	independent, ok := Independent(t.values, least)
	if !ok {
		return out, known
	}
	thresholds := t.find()
	above := make([]float64, len(t.values))
	for i, p := range t.percentiles {
		if independent {
			out[i], known[i] = NoDependence(), true
			continue
		}
		for k, v := range t.values {
			above[k] = 0
			if v > thresholds[i] {
				above[k] = 1
			}
		}
		out[i], known[i] = DependenceAt(p, above, 1, least)
	}
	return out, known
}
