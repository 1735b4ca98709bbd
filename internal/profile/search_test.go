package profile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// levels runs a search whose levels meet the threshold up to a limit, and lists those that it visits.
func levels[T number](most T, search func(visit func(T) outcome) error) []T {
	var seen []T
	_ = search(func(v T) outcome {
		if len(seen) == 100 {
			return outcome{err: ErrInterrupted} // it would go on for ever
		}
		seen = append(seen, v)
		return outcome{met: v <= most, stable: true}
	})
	return seen
}

func TestBinarySearchEnds(t *testing.T) {
	whole := func(start, end, step, most int, want ...int) {
		t.Helper()
		got := levels(most, func(visit func(int) outcome) error { return binary(start, end, step, halfInt, visit) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d:%d:%d up to %d (-want +got):\n%s", start, end, step, most, diff)
		}
	}
	whole(1, 8, 1, 3, 1, 8, 4, 2, 3)
	whole(1, 8, 0, 3, 1, 8, 4, 2, 3)
	whole(1, 8, 0, 1, 1, 8, 4, 2)
	whole(1, 8, -1, 7, 1, 8, 4, 6, 7)
	whole(4, 4, 0, 9, 4, 4)
	whole(1, 8, 4, 3, 1, 8, 4)
	for _, step := range []float64{0, -1} {
		got := levels(300, func(visit func(float64) outcome) error { return binary(100.0, 1100.0, step, half, visit) })
		if len(got) != 12 || got[11] < 298 || got[11] > 302 { // both ends, and ten halves of 1000
			t.Errorf("step %g: %v", step, got)
		}
	}
	got := levels(1e17, func(visit func(float64) outcome) error { return binary(1e17, 1e17+64, 1e-9, half, visit) })
	if len(got) > 10 {
		t.Errorf("no number is left between the bounds: %v", got)
	}
}

func TestLinearSearchEndsWhereTheStepIsTooSmallToCount(t *testing.T) {
	got := levels(2e17, func(visit func(float64) outcome) error { return linear(1e17, 2e17, 1e-9, visit) })
	if diff := cmp.Diff([]float64{1e17}, got); diff != "" {
		t.Error(diff)
	}
}
