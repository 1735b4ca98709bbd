package profile

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/run"
)

// levels runs a search whose levels meet the threshold up to a limit, and lists those that it visits.
func levels[T number](most T, search func(visit func(T) outcome) error) []T {
	var seen []T
	_ = search(func(v T) outcome {
		if len(seen) == 100 {
			return outcome{err: run.ErrInterrupted} // it would go on for ever
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

// Rates are compared as they are written: the last level of a range is visited, and has the number that the user names.
func TestRatesAreDecimals(t *testing.T) {
	f := func(start, end, step float64, want ...float64) {
		t.Helper()
		got := levels(end, func(visit func(float64) outcome) error { return linear(start, end, step, addDecimal, visit) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%g:%g:%g (-want +got):\n%s", start, end, step, diff)
		}
	}
	f(20.1, 20.3, 0.1, 20.1, 20.2, 20.3)
	f(0.1, 0.5, 0.1, 0.1, 0.2, 0.3, 0.4, 0.5)
	f(1000.7, 1001.3, 0.2, 1000.7, 1000.9, 1001.1, 1001.3)
	if got := half(20.1, 20.3); got != 20.2 {
		t.Errorf("half way between 20.1 and 20.3 is %v", got)
	}
}

func TestLinearSearchEndsWhereTheStepIsTooSmallToCount(t *testing.T) {
	got := levels(2e17, func(visit func(float64) outcome) error { return linear(1e17, 2e17, 1e-9, addDecimal, visit) })
	if diff := cmp.Diff([]float64{1e17}, got); diff != "" {
		t.Error(diff)
	}
}

func TestValuesAreThoseOfTheSearch(t *testing.T) {
	f := func(load plan.Load, want ...float64) {
		t.Helper()
		if got := Values(&load); !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", load, got, want)
		}
	}
	f(plan.Load{Mode: plan.Concurrency, Concurrency: plan.IntRange{Start: 1, End: 7, Step: 3}}, 1, 4, 7)
	f(plan.Load{Mode: plan.Concurrency, Concurrency: plan.IntRange{Start: 8, End: 1, Step: 1}}, 8)
	f(plan.Load{Mode: plan.Concurrency, Concurrency: plan.IntRange{Start: 1, End: 0, Step: 1}})
	f(plan.Load{Mode: plan.RequestRate, Rate: plan.FloatRange{Start: 20.1, End: 20.3, Step: 0.1}}, 20.1, 20.2, 20.3)
	f(plan.Load{Mode: plan.RequestRate, Rate: plan.FloatRange{Start: 20, End: 1, Step: 1}}, 20)
	f(plan.Load{Mode: plan.RequestRate, Search: plan.Binary, Rate: plan.FloatRange{Start: 1, End: 9, Step: 1}})
	f(plan.Load{Mode: plan.FixedSchedule})
}
