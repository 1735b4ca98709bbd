package text

import (
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/report/columns"
	"github.com/redline-bench/redline/internal/result"
)

// An interval without an upper end says so.
func TestIntervalsInTheTable(t *testing.T) {
	m := &result.Metric{
		Name: "Latency", Unit: "ms", Avg: 10, Dist: &result.Dist{}, Interval: &result.Interval{Low: 9, High: 12},
		Intervals: map[string]result.Interval{"p99": {Low: 15, Open: true}},
	}
	rows := distRow(m, true)
	if len(rows) != 2 || rows[1][1] != "9.00–12.00" {
		t.Fatalf("%q", rows)
	}
	found := false
	for _, cell := range rows[1] {
		found = found || cell == "at least 15.00"
	}
	if !found {
		t.Errorf("%q", rows[1])
	}
}

// wideMetrics are metrics with the longest names and numbers of ordinary runs.
func wideMetrics() []result.Metric {
	one := func(tag, name, unit string, avg float64) result.Metric {
		d := &result.Dist{Count: 500, Min: avg / 10, Max: avg * 10, Std: avg / 3}
		for _, p := range columnsOf {
			d.Percentiles = append(d.Percentiles, result.Quantile{P: p, V: avg * (1 + p/10)})
		}
		return result.Metric{
			Tag: tag, Name: name, Unit: unit, Avg: avg, Dist: d, Interval: &result.Interval{Low: avg * 0.9, High: avg * 1.1},
			Intervals: map[string]result.Interval{"p50": {Low: avg * 5, High: avg * 7}, "p99": {Low: avg * 9, Open: true}},
		}
	}
	return []result.Metric{
		one("time_to_first_token", "Time to First Token", "ms", 164.48),
		one("request_latency", "Request Latency", "ms", 2839.1),
		one("output_token_throughput_per_user", "Output Token Throughput Per User", "tokens/sec/user", 3474.46),
		{Tag: "request_throughput", Name: "Request Throughput", Unit: "requests/sec", Avg: 3.33},
		{Tag: "output_token_throughput", Name: "Output Token Throughput", Unit: "tokens/sec", Avg: 1832.95},
	}
}

// At 80 columns the table keeps the average, the median and p99 of every metric; a verbose one keeps everything.
func TestMetricsIn80Columns(t *testing.T) {
	f := func(verbose bool, heads ...string) {
		t.Helper()
		got := Metrics(wideMetrics(), verbose, 80)
		for line := range strings.Lines(got) {
			if n := columns.Width(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		for _, head := range heads {
			if !strings.Contains(got, " "+head) {
				t.Errorf("no %s in\n%s", head, got)
			}
		}
	}
	f(false, "avg", "max", "p50", "p99", "(tokens/sec/user)")
	f(true, "avg", "min", "max", "p50", "p90", "p95", "p99", "p99.9", "std", "at least ")
	wide := Metrics(wideMetrics(), false, 200)
	if !strings.Contains(wide, "Output Token Throughput Per User (tokens/sec/user)  3,474.46") || !strings.Contains(wide, "p99.9") {
		t.Errorf("a wide terminal has\n%s", wide)
	}
	if want := "  Request Throughput           3.33 requests/sec\n  Output Token Throughput  1,832.95 tokens/sec\n"; !strings.HasSuffix(wide, want) {
		t.Errorf("the totals are\n%s", wide)
	}
}
