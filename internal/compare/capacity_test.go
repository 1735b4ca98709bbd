package compare_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/result"
)

// search is one side: a search by rate or concurrency with a capacity.
func search(by, outcome string, value, low, high float64) []compare.Side {
	a := result.FindAnswer{Objectives: []string{"p99<50ms"}, Outcome: outcome}
	if value > 0 {
		a.Capacity = &result.Capacity{Value: value, Interval: result.Interval{Low: low, High: high, Open: high == 0, Level: 0.99}}
	}
	run := &result.Result{Verdict: result.Verdict{State: result.Valid}, Find: &result.Find{By: by, FindAnswer: a}}
	return []compare.Side{{Name: outcome + " by " + by, Run: run}}
}

// Capacities are compared by their intervals.
func TestCapacitiesAreCompared(t *testing.T) {
	f := func(a, b []compare.Side, want compare.Finding) {
		t.Helper()
		rep, err := compare.Runs(a, b, compare.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		if len(rep.Rows) != 1 || rep.Rows[0].Name != "capacity" || rep.Rows[0].Finding != want {
			t.Errorf("%+v", rep.Rows)
		}
		if sees, want := rep.Sees(0.03), want != compare.Unknown; sees != want {
			t.Errorf("%s: sees a change: %v, want %v", rep.Headline, sees, want)
		}
	}
	before := search("rate", "found", 1000, 990, 1010)
	f(before, search("rate", "found", 800, 790, 810), compare.Worse)
	f(before, search("rate", "found", 1200, 1190, 1215), compare.Better)
	f(before, search("rate", "found", 1003, 990, 1015), compare.Same)
	f(before, search("rate", "found", 1003, 800, 1300), compare.Unknown)
	f(before, search("rate", "found", 1003, 990, 0), compare.Unknown)

	// If 10 in flight hold and 11 fail, the capacity is 10.
	ten := search("concurrency", "found", 10, 10, 11)
	f(ten, ten, compare.Same)
	f(ten, search("concurrency", "found", 9, 9, 10), compare.Worse)
	f(ten, search("concurrency", "found", 10, 10, 14), compare.Unknown)

	// A search that ended at the highest load is compared by that load.
	highest := search("rate", "all hold", 1000, 990, 0)
	f(highest, highest, compare.Same)
	f(highest, search("rate", "found", 900, 890, 905), compare.Worse)
}

// Runs without a capacity, and searches for different things, are not compared.
func TestSearchesThatCannotBeCompared(t *testing.T) {
	f := func(a, b []compare.Side, want string) {
		t.Helper()
		if _, err := compare.Runs(a, b, compare.Defaults()); !errors.Is(err, compare.ErrApart) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	before := search("rate", "found", 1000, 990, 1010)
	f(before, search("rate", "none holds", 0, 0, 0), "none holds by rate found no capacity (none holds)")
	f(before, search("concurrency", "found", 10, 10, 11), "found by rate searched by rate, found by concurrency by concurrency")
	other := search("rate", "found", 1000, 990, 1010)
	other[0].Run.Find.Objectives = []string{"p99<60ms"}
	f(before, other, `the objectives of found by rate are ["p99<50ms"], those of found by rate ["p99<60ms"]`)
}
