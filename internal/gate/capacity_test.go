package gate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/result"
)

func TestRulesAboutCapacity(t *testing.T) {
	found := func(v float64) result.FindAnswer {
		return result.FindAnswer{Outcome: "found", LimitedBy: "server", Capacity: &result.Capacity{Value: v, Interval: result.Interval{Low: v - 1, High: v + 1}}}
	}
	client := result.FindAnswer{Outcome: "client limit", LimitedBy: "client", Capacity: &result.Capacity{Value: 950, Interval: result.Interval{Low: 940, Open: true}}}
	f := func(rule string, find *result.Find, want gate.Outcome, text string) {
		t.Helper()
		r, err := gate.Parse(rule)
		if err != nil {
			t.Fatal(err)
		}
		g := gate.Apply(&result.Result{Find: find, Verdict: result.Verdict{State: result.Valid}}, []gate.Rule{r})
		if g.Outcome() != want || g.Findings[0].Text != text {
			t.Errorf("%s: %v, %q", rule, g.Outcome(), g.Findings[0].Text)
		}
	}
	f("capacity>900", &result.Find{By: "rate", FindAnswer: found(950)}, gate.Passed, "capacity is surely 949 to 951 requests/s")
	f("capacity>900", &result.Find{By: "users", FindAnswer: found(12)}, gate.Missed, "capacity is surely 11 to 13 users")
	f("capacity>949.5", &result.Find{By: "rate", FindAnswer: found(950)}, gate.Missed, "capacity is surely 949 to 951 requests/s")
	f("capacity<950.5", &result.Find{By: "rate", FindAnswer: found(950)}, gate.Missed, "capacity is surely 949 to 951 requests/s")
	f("capacity<952", &result.Find{By: "rate", FindAnswer: found(950)}, gate.Passed, "capacity is surely 949 to 951 requests/s")
	f("capacity>900", &result.Find{By: "rate", FindAnswer: client}, gate.Passed, "capacity is surely at least 940 requests/s")
	f("capacity>945", &result.Find{By: "rate", FindAnswer: client}, gate.Void, "capacity is surely at least 940 requests/s")
	f("capacity>900", &result.Find{By: "rate", FindAnswer: result.FindAnswer{Outcome: "none holds", LimitedBy: "server"}}, gate.Missed, "no load holds the objectives")
	f("capacity>900", &result.Find{By: "rate", FindAnswer: result.FindAnswer{Outcome: "open"}}, gate.Void, "no capacity was found: open")
	f("capacity>900", nil, gate.Missed, "only 'redline find' and 'redline tune' measure a capacity")
	slow := found(2000)
	slow.Tier = "slow"
	f("capacity.slow>900", &result.Find{By: "rate", FindAnswer: found(10), Tiers: []result.FindAnswer{slow}}, gate.Passed, "capacity is surely 1999 to 2001 requests/s")
	f("capacity.fast>900", &result.Find{By: "rate", FindAnswer: found(10)}, gate.Missed, `capacity.fast: the search has no tier "fast"`)
	f("capacity>900ms", &result.Find{By: "rate", FindAnswer: found(950)}, gate.Missed, "capacity is in /s, so capacity>900ms cannot be its bound")
	f("capacity>9/s", &result.Find{By: "users", FindAnswer: found(12)}, gate.Missed, "capacity is in users, so capacity>9/s cannot be its bound")
	f("Capacity>9/s", &result.Find{By: "rate", FindAnswer: found(12)}, gate.Passed, "capacity is surely 11 to 13 requests/s")
}

// Rules about the answer of a search are checked before it, too.
func TestRulesAboutCapacityFitTheSearch(t *testing.T) {
	s := &gate.Sample{Level: &result.Level{}, Find: &result.Find{By: "rate", Tiers: []result.FindAnswer{{Tier: "Fast"}}}}
	for rule, fits := range map[string]bool{"capacity>9": true, "capacity.Fast>9/s": true, "capacity.slow>9": false, "capacity>9ms": false, "capacity>9@8": false} {
		r, err := gate.Parse(rule)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Fits(s); (err == nil) != fits {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

// goodput with % is the share of good requests.
func TestGoodputInPercent(t *testing.T) {
	lv := result.Level{Metrics: []result.Metric{
		{Tag: "goodput", Unit: "requests/sec", Avg: 12}, {Tag: "good_request_fraction", Unit: "ratio", Avg: 0.96, Interval: &result.Interval{Low: 0.9, High: 0.98, Level: 0.99}},
	}}
	for rule, want := range map[string]bool{"goodput>=95%": true, "goodput>=97%": false, "goodput>=11/s": true} {
		r, err := gate.Parse(rule)
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := r.Check(&lv)
		if err != nil || ok != want || r.Unit == "%" && (got.Value != 96 || got.Interval.Low != 90) {
			t.Errorf("%s: %+v %v %v", rule, got, ok, err)
		}
	}
}

// The objectives of a search that is complete are checks: they hold at some load, at none, or the client was the limit.
func TestObjectivesAreChecks(t *testing.T) {
	slo := []string{"p99<5ms", "error_rate<1%"}
	f := func(res result.Result, want ...result.Check) {
		t.Helper()
		if diff := cmp.Diff(want, gate.Apply(&res, nil).Findings); diff != "" {
			t.Error(diff)
		}
	}
	none := result.FindAnswer{Tier: "fast", Objectives: slo, Outcome: "none holds", LimitedBy: "server"}
	held := result.FindAnswer{Tier: "slow", Objectives: slo, Outcome: "found", Capacity: &result.Capacity{Value: 8, Interval: result.Interval{Low: 8, High: 9}}}
	f(result.Result{Find: &result.Find{By: "users", State: "complete", FindAnswer: held}}, result.Check{Rule: "p99<5ms error_rate<1%", Objective: true, OK: true, Text: "capacity is surely 8 to 9 users"})
	f(result.Result{Find: &result.Find{State: "complete", FindAnswer: none}}, result.Check{Rule: "p99<5ms error_rate<1%", Objective: true, Text: "no load holds the objectives"})
	f(result.Result{Find: &result.Find{State: "complete", FindAnswer: result.FindAnswer{Objectives: slo, Outcome: "client limit", LimitedBy: "client"}}},
		result.Check{Rule: "p99<5ms error_rate<1%", Objective: true, Unknown: true, Text: "no capacity was found: client limit"})
	f(result.Result{Find: &result.Find{By: "concurrency", State: "complete", FindAnswer: none, Tiers: []result.FindAnswer{none, held}}},
		result.Check{Rule: "fast: p99<5ms error_rate<1%", Objective: true, Text: "no load holds the objectives"}, result.Check{Rule: "slow: p99<5ms error_rate<1%", Objective: true, OK: true, Text: "capacity is surely 8 to 9 in flight"})
	f(result.Result{Tune: &result.Tune{State: "complete", Objectives: slo}}, result.Check{Rule: "p99<5ms error_rate<1%", Objective: true, Text: "no candidate holds the objectives at any load"})
	f(result.Result{Tune: &result.Tune{State: "complete", Objectives: slo, Candidates: []result.TuneCandidate{{}, {LimitedBy: "client"}}}},
		result.Check{Rule: "p99<5ms error_rate<1%", Objective: true, Unknown: true, Text: "no capacity was found: client limit"})
	f(result.Result{Find: &result.Find{State: "interrupted", FindAnswer: none}})
	f(result.Result{Tune: &result.Tune{State: "failed", Objectives: slo}})
}
