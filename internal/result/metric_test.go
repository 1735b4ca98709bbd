package result_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/result"
)

// An open end is null in JSON, and stays open when it is read again.
func TestIntervalAsJSON(t *testing.T) {
	f := func(iv result.Interval, want string) {
		t.Helper()
		text, err := json.Marshal(iv)
		if err != nil || string(text) != want {
			t.Fatalf("%s, want %s: %v", text, want, err)
		}
		var again result.Interval
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(iv, again); d != "" {
			t.Error(d)
		}
	}
	f(result.Interval{Low: 1, High: 2, Level: 0.95}, `{"low":1,"high":2,"level":0.95}`)
	f(result.Interval{Low: 1, Level: 0.95, Open: true}, `{"low":1,"high":null,"level":0.95}`)
}

// Metrics of schema 1, which had a shape for latencies and another for metrics, are read as those of today.
func TestMetricsOfSchema1(t *testing.T) {
	f := func(old string, want result.Metric) {
		t.Helper()
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{old, string(text)} {
			var got result.Metric
			if err := json.Unmarshal([]byte(from), &got); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s", from, d)
			}
		}
	}
	f(`{"count":5,"min":1,"max":9,"avg":4,"std_dev":2,"percentiles":[{"p":50,"ns":3},{"p":99,"ns":8,"at_least":true,"up_to_ns":20,"in_flight_above":2}],"intervals":{"avg":{"low":3,"high":5,"level":0.95},"p50":{"low":2,"high":null,"level":0.95}},"exact":false}`,
		result.Metric{
			Unit: "ns", Count: 5, Min: 1, Max: 9, Avg: 4, Std: 2, Approximate: true, Interval: &result.Interval{Low: 3, High: 5, Level: 0.95},
			Quantiles: []result.Quantile{{P: 50, V: 3, Interval: &result.Interval{Low: 2, Level: 0.95, Open: true}}, {P: 99, V: 8, AtLeast: true, UpTo: 20, Above: 2}},
		})
	f(`{"tag":"ttft","name":"TTFT","unit":"ms","avg":4,"dist":{"count":5,"sum":20,"min":1,"max":9,"std":2,"percentiles":[{"p":99,"v":8.5}]},"interval":{"low":3,"high":5,"level":0.95},"intervals":{"p99":{"low":7,"high":9,"level":0.95}}}`,
		result.Metric{
			Tag: "ttft", Name: "TTFT", Unit: "ms", Count: 5, Sum: 20, Min: 1, Max: 9, Avg: 4, Std: 2, Interval: &result.Interval{Low: 3, High: 5, Level: 0.95},
			Quantiles: []result.Quantile{{P: 99, V: 8.5, Interval: &result.Interval{Low: 7, High: 9, Level: 0.95}}},
		})
	f(`{"tag":"n","name":"N","unit":"requests","avg":4}`, result.Metric{Tag: "n", Name: "N", Unit: "requests", Avg: 4})
}
