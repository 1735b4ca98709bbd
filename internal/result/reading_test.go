package result_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/result"
)

// Every short name that people use finds its metric.
func TestShortNamesOfMetrics(t *testing.T) {
	lv := result.Level{Metrics: []result.Metric{
		{Tag: "time_to_first_token", Unit: "ms", Avg: 1}, {Tag: "inter_token_latency", Unit: "ms", Avg: 2},
	}}
	for name, want := range map[string]float64{"ttft": 1, "itl": 2, "tpot": 2, "tpot.avg": 2} {
		if r, ok := lv.Read(name); !ok || r.Value != want {
			t.Errorf("%s is %+v, %v", name, r, ok)
		}
	}
}
