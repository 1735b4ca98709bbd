package report_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
)

func shaped(concurrency int, buckets ...result.Bucket) result.Level {
	lv := result.Level{Mode: plan.Concurrency, Concurrency: concurrency, Histogram: &result.Histogram{Buckets: buckets}}
	lv.Client.Requests = 151
	lv.Client.Latency = result.Metric{Unit: result.Nanoseconds, Min: float64(buckets[0].UpToNs), Max: float64(buckets[len(buckets)-1].UpToNs), Quantiles: []result.Quantile{{P: 50, V: 2e6}, {P: 99, V: 16e6}}}
	return lv
}

func TestShapes(t *testing.T) {
	levels := []result.Level{
		shaped(1, result.Bucket{UpToNs: 1e6, Count: 1}, result.Bucket{UpToNs: 2e6, Count: 100}, result.Bucket{UpToNs: 16e6, Count: 50}),
		shaped(16, result.Bucket{UpToNs: 16e6, Count: 7}),
	}
	var b strings.Builder
	report.Shapes(&b, levels, 120)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 3 || lines[0] != "Latency from 1.00 ms to 16.0 ms, on a logarithmic scale" {
		t.Fatalf("%q", lines)
	}
	if !strings.HasPrefix(lines[1], "  concurrency 1  ▁") || !strings.Contains(lines[1], "█") || !strings.HasSuffix(lines[1], "▄ p50 2.00 ms, p99 16.0 ms") {
		t.Errorf("%q", lines[1])
	}
	if !strings.Contains(lines[2], "   █ p50") {
		t.Errorf("%q", lines[2])
	}
	for width := range 130 {
		b.Reset()
		report.Shapes(&b, levels, width)
		for line := range strings.Lines(b.String()) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > max(width, len("Latency from 1.00 ms to 16.0 ms, on a logarithmic scale")) {
				t.Fatalf("too wide for %d: %q", width, line)
			}
		}
	}
	b.Reset()
	report.Shapes(&b, []result.Level{{}}, 120)
	if b.Len() > 0 {
		t.Errorf("nothing was measured, and yet: %q", b.String())
	}
}
