package compare_test

import (
	"errors"
	"testing"

	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/result"
)

// Capacities are compared by their intervals; those of a run without one are not.
func TestCapacitiesAreCompared(t *testing.T) {
	search := func(name string, value, low, high float64) []compare.Side {
		a := result.FindAnswer{Outcome: "found", Capacity: &result.Capacity{Value: value, Interval: result.Interval{Low: low, High: high, Level: 0.99}}}
		return []compare.Side{{Name: name, Run: &result.Result{Verdict: result.Verdict{State: result.Valid}, Find: &result.Find{By: "rate", FindAnswer: a}}}}
	}
	f := func(a, b []compare.Side, want compare.Finding) {
		t.Helper()
		rep, err := compare.Runs(a, b, compare.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		if len(rep.Rows) != 1 || rep.Rows[0].Name != "capacity" || rep.Rows[0].Finding != want {
			t.Errorf("%+v", rep.Rows)
		}
	}
	before := search("before", 1000, 990, 1010)
	f(before, search("after", 800, 790, 810), compare.Worse)
	f(before, search("after", 1200, 1190, 1215), compare.Better)
	f(before, search("after", 1003, 990, 1015), compare.Same)
	none := search("none", 0, 0, 0)
	if _, err := compare.Runs(before, none, compare.Defaults()); !errors.Is(err, compare.ErrApart) {
		t.Error(err)
	}
}
