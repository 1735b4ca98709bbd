package load_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/result"
)

// Errors in any run count, by whatever name a rule asks for them.
func TestRepeatsCountErrorsOfAllRuns(t *testing.T) {
	run := func(ok, failed uint64, avg, most float64) *load.Outcome {
		var o load.Outcome
		o.Level.Client = result.Client{
			Requests: ok, Failed: failed, DurationNs: 1e9, InferPerSec: float64(ok),
			Latency: result.Metric{Count: ok, Min: avg / 2, Max: most, Avg: avg, Quantiles: []result.Quantile{{P: 99, V: most}}},
		}
		o.Level.Metrics = []result.Metric{
			{Tag: "error_request_count", Avg: float64(failed)},
			{Tag: "completed_request_count", Avg: float64(ok + failed)},
			{Tag: "request_error_rate", Avg: 100 * float64(failed) / float64(ok+failed)},
		}
		o.Reasons = []result.Reason{{What: "a"}}
		return &o
	}
	out := load.Merge([]*load.Outcome{run(50, 50, 10, 40), run(100, 0, 20, 30), run(100, 0, 30, 50)}, 0.95)
	for name, want := range map[string]float64{"error_rate": 100 * 50 / 300.0, "request_error_rate": 100 * 50 / 300.0, "failed": 50, "requests": 250, "error_request_count": 50} {
		if got, ok := out.Level.Read(name); !ok || got.Value != want {
			t.Errorf("%s is %v, want %v", name, got.Value, want)
		}
	}
	want := result.Metric{Count: 250, Min: 5, Max: 50, Avg: 20, Quantiles: []result.Quantile{{P: 99, V: 40}}}
	if d := cmp.Diff(want, out.Level.Client.Latency); d != "" {
		t.Error(d)
	}
	if len(out.Reasons) != 3 {
		t.Errorf("%d reasons of three runs with one each", len(out.Reasons))
	}
}
