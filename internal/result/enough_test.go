package result_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/result"
)

func TestFewest(t *testing.T) {
	for p, want := range map[float64]uint64{50: 2, 75: 4, 25: 4, 90: 10, 95: 20, 99: 100, 1: 100, 99.9: 1000, 99.99: 10000, 0: 1, 100: 1} {
		if got := result.Fewest(p); got != want {
			t.Errorf("p%g needs %d samples, want %d", p, got, want)
		}
		if result.Enough(p, want-1) || !result.Enough(p, want) {
			t.Errorf("p%g with %d samples", p, want)
		}
	}
}

func TestReadingWithFewSamples(t *testing.T) {
	lv := result.Level{Client: result.Client{Requests: 24, Latency: result.Metric{Unit: result.Nanoseconds, Count: 24, Quantiles: []result.Quantile{{P: 90, V: 5}, {P: 99, V: 9}}}}}
	lv.Metrics = []result.Metric{{Tag: "time_to_first_token", Count: 99, Quantiles: []result.Quantile{{P: 99, V: 1}}}}
	for name, want := range map[string]uint64{"p90": 0, "p99": 100, "latency.p99": 100, "avg": 0, "ttft.p99": 100, "throughput": 0} {
		r, ok := lv.Read(name)
		if !ok || r.Needs != want {
			t.Errorf("%s: %+v, %v, want %d needed samples", name, r, ok, want)
		}
	}
}
