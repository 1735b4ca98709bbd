//go:build !race

// Simulations have no threads and are slow under the race detector: `make unit` runs them without it.

package metric_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/stats"
)

// For the same latencies, the table of a window, the live view, a point of the chart and the metrics of language models have
// the same percentiles, within the one stated error.
func TestOneQuantile(t *testing.T) {
	const start = int64(time.Second)
	for _, n := range []int{1, 7, 1000, 50_000, stats.ExactLimit + 1000} {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		window, timeline, collector := measure.NewWindow(measure.Setup{}), measure.NewTimeline(measure.Setup{}, start), metric.New(metric.Options{})
		var all []float64
		for range n {
			latency := int64(math.Exp(rng.NormFloat64()) * 1e6)
			// All end in the first slice of the timeline.
			r := &record.Record{Due: start + ms - latency, Sent: start + ms - latency, First: start + ms, End: start + ms, Responses: 1}
			window.Add(r)
			timeline.Add(r)
			collector.Add(&llm.Sample{Sent: r.Sent, End: r.End, Chunks: []llm.Chunk{{At: r.End}}})
			all = append(all, float64(latency))
		}
		slices.Sort(all)
		table, live, point := window.Client(time.Second).Latency, timeline.Latency(), timeline.Result(start + 100*ms).Slices[0]
		latency, _ := metric.Find(collector.Metrics(), "request_latency")
		for _, p := range []float64{1, 50, 90, 95, 99, 99.9} {
			want := stats.Interpolate(p, n, func(k int) float64 { return all[k] })
			llm, _ := latency.Find(p)
			got := map[string]float64{"table": float64(table.At(p)), "live": float64(live.At(p)), "llm": llm * 1e6}
			if p == 99 {
				got["chart"] = float64(point.P99Ns)
			}
			for where, v := range got {
				if math.Abs(v/want-1) > stats.MaxError {
					t.Errorf("%d latencies: p%g of the %s is %g, want %g", n, p, where, v, want)
				}
			}
		}
		if table.Approximate != (n > stats.ExactLimit) {
			t.Errorf("%d latencies: approximate is %v", n, table.Approximate)
		}
	}
}
