package simple

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/stats"
	"github.com/redline-bench/redline/internal/unit"
)

// Figures are the numbers of one run. Latencies are in milliseconds.
type Figures struct {
	Concurrency        int
	Throughput         float64 // requests per second
	Avg                float64
	P50, P90, P95, P99 float64
	Slowest            float64
}

// Measure computes the figures from the requests after the warm-up. It returns false if none succeeded.
func Measure(t *Tap, p *plan.Plan) (Figures, bool) {
	spans := t.run(p.Measure.WarmupCount)
	f := Figures{Concurrency: p.Load.Concurrency.Start}
	if len(spans) == 0 {
		return f, false
	}
	seconds := make([]float64, len(spans))
	var sum float64
	end := spans[0].end
	for i, s := range spans {
		seconds[i] = float64(s.end-s.sent) / 1e9
		sum += seconds[i]
		end = max(end, s.end)
	}
	slices.Sort(seconds)
	f.Throughput = float64(len(spans)) / (float64(end-spans[0].sent) / 1e9)
	f.Avg = sum / float64(len(seconds)) * 1000
	at := func(p float64) float64 {
		return stats.Interpolate(p, len(seconds), func(k int) float64 { return seconds[k] }) * 1000
	}
	f.P50, f.P90, f.P95, f.P99 = at(50), at(90), at(95), at(99)
	f.Slowest = seconds[len(seconds)-1] * 1000
	return f, true
}

// Text is the report on standard output.
func (f Figures) Text() string {
	return fmt.Sprintf("Throughput: %s infer/sec\nLatencies:\n\tAvg: %s ms\n\tp50: %s ms\n\tp90: %s ms\n\tp95: %s ms\n\tp99: %s ms\n",
		unit.Python(f.Throughput), unit.Python(f.Avg), unit.Python(f.P50), unit.Python(f.P90), unit.Python(f.P95), unit.Python(f.P99))
}

// CSV is the content of the CSV file: latencies in microseconds, no line end after the row.
func (f Figures) CSV() string {
	row := []string{
		strconv.Itoa(f.Concurrency), unit.Python(f.Throughput),
		unit.Python(f.P50 * 1000), unit.Python(f.P90 * 1000), unit.Python(f.P95 * 1000), unit.Python(f.P99 * 1000),
	}
	return "Concurrency,Inferences/Second,p50 latency,p90 latency,p95 latency,p99 latency\n" + strings.Join(row, ",")
}
