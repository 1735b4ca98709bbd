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
		Name: "Latency", Unit: "ms", Avg: 10, Interval: &result.Interval{Low: 9, High: 12},
		Quantiles: []result.Quantile{{P: 99, Interval: &result.Interval{Low: 15, Open: true}}},
	}
	rows := distRow(m, columnsOf, true)
	if len(rows) != 2 || rows[1][1] != "9.00 ms–12.0 ms" {
		t.Fatalf("%q", rows)
	}
	found := false
	for _, cell := range rows[1] {
		found = found || cell == "at least 15.0 ms"
	}
	if !found {
		t.Errorf("%q", rows[1])
	}
}

// wideMetrics are metrics with the longest names and numbers of ordinary runs.
func wideMetrics() []result.Metric {
	one := func(tag, name, unit string, avg float64) result.Metric {
		m := result.Metric{
			Tag: tag, Name: name, Unit: unit, Avg: avg, Count: 500, Min: avg / 10, Max: avg * 10, Std: avg / 3,
			Interval: &result.Interval{Low: avg * 0.9, High: avg * 1.1},
		}
		for _, p := range columnsOf {
			m.Quantiles = append(m.Quantiles, result.Quantile{P: p, V: avg * (1 + p/10), Interval: map[float64]*result.Interval{
				50: {Low: avg * 5, High: avg * 7}, 99: {Low: avg * 9, Open: true},
			}[p]})
		}
		return m
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
	f(false, "avg", "max", "p50", "p99", "(tokens/s/user)")
	f(true, "avg", "min", "max", "p50", "p90", "p95", "p99", "std", "at least ")
	wide := Metrics(wideMetrics(), false, 200)
	if !strings.Contains(wide, "Output Token Throughput Per User (tokens/s/user)  3,474.46") || !strings.Contains(wide, "p99") || strings.Contains(wide, "p99.9") {
		t.Errorf("a wide terminal has\n%s", wide)
	}
	if want := "  Request Throughput           3.33 requests/s\n  Output Token Throughput  1,832.95 tokens/s\n"; !strings.HasSuffix(wide, want) {
		t.Errorf("the totals are\n%s", wide)
	}
}

// A percentile has a column where the requests of the level are enough for it; otherwise a line says how many it needs.
func TestColumnsThatCanBeStated(t *testing.T) {
	f := func(requests uint64, heads, needs string) {
		t.Helper()
		list := wideMetrics()
		for i := range list {
			if list[i].Distributed() {
				list[i].Count = requests
			}
		}
		events := list[0]
		events.Tag, events.Name, events.Count = "inter_chunk_latency", "Inter Chunk Latency", 5000
		lines := strings.Split(Metrics(append(list, events), false, 200), "\n")
		if got := strings.Join(strings.Fields(lines[0]), " "); got != "Metric avg min max "+heads {
			t.Errorf("%d requests: %s", requests, got)
		}
		if got := strings.TrimSpace(lines[5]); needs != "" && got != needs || needs == "" && strings.Contains(got, "needs") {
			t.Errorf("%d requests: %s", requests, got)
		}
	}
	f(5, "p50 std", "p90 needs 10, p95 needs 20, p99 needs 100 requests; this level has 5")
	f(15, "p50 p90 std", "p95 needs 20, p99 needs 100 requests; this level has 15")
	f(80, "p50 p90 p95 std", "p99 needs 100 requests; this level has 80")
	f(100, "p50 p90 p95 p99 std", "")
	f(1000, "p50 p90 p95 p99 p99.9 std", "")
}

// The table of levels has the highest percentile that all of them can state.
func TestLevelsHaveOneTail(t *testing.T) {
	f := func(want string, requests ...uint64) {
		t.Helper()
		var levels []result.Level
		for i, n := range requests {
			list := wideMetrics()
			for j := range list {
				if list[j].Distributed() {
					list[j].Count = n
				}
			}
			levels = append(levels, result.Level{Concurrency: i + 1, Client: result.Client{Requests: n}, Metrics: list})
		}
		head := strings.Split(Levels(levels, 200), "\n")[2]
		if got := strings.Contains(head, "latency "+want); !got {
			t.Errorf("%v: %s", requests, head)
		}
	}
	f("p99", 100, 1000)
	f("p95", 80, 1000)
	f("p90", 12, 0)
	f("p50", 5, 1000)
}
