package measure_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

func TestTooFewRequestsToJudge(t *testing.T) {
	f := func(requests uint64, untested, unfinished bool, want result.State) {
		t.Helper()
		lv := result.Level{Mode: plan.Concurrency, Concurrency: 1, Stable: true, Untested: untested, Unfinished: unfinished}
		lv.Client.Requests, lv.Client.DurationNs = requests, 500e6
		v := measure.Conclude(measure.Run{Levels: []result.Level{lv}, Limits: [][]result.Reason{nil}, MaxErrorRate: 0.01, More: "send more"})
		if v.State != want {
			t.Errorf("%d requests, untested %v, unfinished %v: %+v, want %s", requests, untested, unfinished, v, want)
		}
	}
	f(29, true, false, result.TooShort)
	f(30, true, false, result.Valid)
	f(3, false, false, result.Valid) // three windows agreed
	f(3, true, true, result.Valid)   // the reason for the end says more

	lv := result.Level{Mode: plan.Concurrency, Concurrency: 1, Stable: true, Untested: true, Client: result.Client{Requests: 3, DurationNs: 500e6}}
	if v := measure.Conclude(measure.Run{Levels: []result.Level{lv}, Limits: [][]result.Reason{nil}, MaxErrorRate: 0.01, Decided: true}); v.State != result.Valid {
		t.Errorf("a search has decided its objectives: %+v", v)
	}
}

func TestCountsOfALevel(t *testing.T) {
	f := func(lv result.Level, failed, all uint64) {
		t.Helper()
		if a, b := measure.Counts(&lv); a != failed || b != all {
			t.Errorf("%d of %d, want %d of %d", a, b, failed, all)
		}
	}
	some := []result.Failure{{Count: 2}, {Count: 3}}
	f(result.Level{Client: result.Client{Requests: 10}}, 0, 10)
	f(result.Level{Client: result.Client{Requests: 10, Failed: 1}}, 1, 11)
	f(result.Level{Client: result.Client{Requests: 10, Failed: 1}, Failures: some}, 5, 15)
	f(result.Level{Client: result.Client{Requests: 10}, Windows: []result.Window{{Client: result.Client{Requests: 8}}, {Client: result.Client{Requests: 10}}}, Failures: some}, 5, 23)
	f(result.Level{Timeline: &result.Timeline{Slices: []result.Slice{{Ended: 7, Failed: 5}}}, Failures: some}, 5, 12)
	f(result.Level{Timeline: &result.Timeline{Slices: []result.Slice{{Ended: 7, Failed: 4}}}, Failures: some}, 5, 12)
}

func TestSampleHasTheNumbersOfARun(t *testing.T) {
	lv := measure.Sample(&plan.Measure{Percentile: 85}, true)
	for _, name := range []string{"p50", "p85", "p99.99", "avg", "send.p99", "due.p50", "first.p99", "throughput", "error_rate", "server.queue", "lag.p99", "in_flight"} {
		if r, ok := lv.Read(name); !ok || r.Needs > 0 {
			t.Errorf("%s: %+v, %v", name, r, ok)
		}
	}
	if _, ok := measure.Sample(nil, false).Read("first.p99"); ok {
		t.Error("a single response has a time to the first one")
	}
}
