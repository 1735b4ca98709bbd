package watch

import (
	"math"
	"testing"
)

// Merging steps keeps sums: the total increase and every mean stay what they were.
func TestAxisKeepsTotals(t *testing.T) {
	a := &axis{step: 10}
	l, p := a.add(&line{}), a.add(&line{})
	want := 0.0
	for i := range int64(3000) {
		a.spread(l, i*7, (i+1)*7, 2, 7)
		a.point(p, i*7, float64(i%5))
		want += 2
	}
	sum := 0.0
	for _, c := range l.cells {
		sum += c.sum
	}
	if math.Abs(sum-want) > 1e-6 || len(l.cells) > mostSteps || len(p.cells) > mostSteps {
		t.Errorf("the increase is %v, want %v, in %d steps", sum, want, len(l.cells))
	}
}
