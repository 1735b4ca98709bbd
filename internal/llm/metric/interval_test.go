package metric_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/result"
)

// serial makes requests that follow each other, each of some milliseconds.
func serial() func(latency float64) *llm.Sample {
	now := int64(ms)
	return func(latency float64) *llm.Sample {
		sent := now
		now += int64(latency * ms)
		return &llm.Sample{Sent: sent, End: now, Chunks: []llm.Chunk{{At: now}}}
	}
}

// latencies are those of a number of requests.
func latencies(n int, one func() float64) result.Metric {
	c := metric.New(metric.Options{Level: 0.95})
	next := serial()
	for range n {
		c.Add(next(one()))
	}
	m, _ := metric.Find(c.Metrics(), "request_latency")
	return m
}

// A percentile has an upper end only where the sample reaches beyond it.
func TestOpenIntervals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	one := func() float64 { return 100 * math.Exp(rng.NormFloat64()) }
	f := func(n int, open ...string) {
		t.Helper()
		m := latencies(n, one)
		var got []string
		for _, p := range []string{"p50", "p90", "p95", "p99"} {
			iv := m.IntervalOf(p)
			if iv == nil {
				t.Fatalf("%d requests: no interval of %s", n, p)
			}
			if iv.Open {
				got = append(got, p)
			} else if iv.Low >= iv.High {
				t.Errorf("%d requests: %s in %+v", n, p, iv)
			}
		}
		if d := cmp.Diff(open, got); d != "" {
			t.Errorf("%d requests: %s", n, d)
		}
	}
	f(60, "p95", "p99") // 0.95^60 and 0.99^60 are above 2.5 %
	f(150, "p99")
	f(2000)
}

// Beyond what is kept one by one, intervals get narrower still and hold the figures.
func TestIntervalsOfManyRequests(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	m := latencies(60_000, func() float64 { return 200 + 40*rng.NormFloat64() })
	half := func(iv result.Interval) float64 { return (iv.High - iv.Low) / 2 }
	deviation := 40 / math.Sqrt(60_000)
	for name, c := range map[string]struct {
		iv            result.Interval
		value, errors float64 // the standard error
	}{
		"avg": {*m.Interval, 200, deviation},
		"p50": {*m.IntervalOf("p50"), 200, 1.2533 * deviation},
		"p99": {*m.IntervalOf("p99"), 200 + 40*2.3263, 3.733 * deviation},
	} {
		if width := half(c.iv) / (1.96 * c.errors); width < 0.7 || width > 1.5 || c.iv.Low > c.value || c.iv.High < c.value {
			t.Errorf("%s is %g: %+v is %.2f times as wide as it should be", name, c.value, c.iv, width)
		}
	}
}

// Throughputs have intervals that hold them; lockstep does not widen them, and a short run has none.
func TestThroughputIntervals(t *testing.T) {
	f := func(n, together int) *result.Interval {
		c := metric.New(metric.Options{Level: 0.95})
		for i := range n {
			at := 1000 + int64(i/together)*100
			s := stream(at+60, at+100)
			s.Sent = at * ms
			c.Add(s)
		}
		m, _ := metric.Find(c.Metrics(), "request_throughput")
		if iv := m.Interval; iv != nil && (iv.Low > m.Avg+1e-6 || iv.High < m.Avg-1e-6 || (iv.High-iv.Low)/m.Avg > 0.2) {
			t.Errorf("%d requests, %d at once: %g in %+v", n, together, m.Avg, *iv)
		}
		return m.Interval
	}
	if f(200, 1) == nil || f(200, 8) == nil || f(50_000, 8) == nil {
		t.Error("no interval")
	}
	if f(24, 12) != nil {
		t.Error("an interval of two stretches")
	}
}

// Counts of several runs are sums, shares are of the sums, and the rest are means with Student's interval, whatever run has it.
func TestRepeats(t *testing.T) {
	run := func(a, ok, failed float64) []result.Metric {
		out := []result.Metric{{Tag: "a", Avg: a}, {Tag: "request_count", Avg: ok}}
		if failed > 0 {
			out = append(out, result.Metric{Tag: "error_request_count", Avg: failed})
		}
		return append(out, result.Metric{Tag: "completed_request_count", Avg: ok + failed}, result.Metric{Tag: "request_error_rate", Avg: 100 * failed / (ok + failed)})
	}
	got := metric.Repeats([][]result.Metric{run(1, 100, 0), run(2, 50, 50), run(3, 100, 0)}, 0.95)
	// The t quantile for two degrees of freedom is 4.302653.
	half := 4.302653 / math.Sqrt(3)
	want := []result.Metric{
		{Tag: "a", Avg: 2, Interval: &result.Interval{Low: 2 - half, High: 2 + half, Level: 0.95}},
		{Tag: "request_count", Avg: 250},
		{Tag: "completed_request_count", Avg: 300},
		{Tag: "request_error_rate", Avg: 100 * 50 / 300.0},
		{Tag: "error_request_count", Avg: 50},
	}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(1e-5, 0)); d != "" {
		t.Error(d)
	}
}

// A level ends at the second look that finds the interval narrow, and not before 20/(1-p) requests.
func TestWatch(t *testing.T) {
	f := func(text string, atLeast, atMost int) {
		t.Helper()
		target, err := metric.ParseTarget(text)
		if err != nil {
			t.Fatal(err)
		}
		c, w, next := metric.New(metric.Options{}), metric.Watch{Target: target}, serial()
		rng := rand.New(rand.NewPCG(1, 4))
		for n := 1; ; n++ {
			c.Add(next(100 + rng.NormFloat64()))
			if done := w.Done(c); done || n > atMost {
				if n < atLeast || n > atMost {
					t.Errorf("%s: ended after %d requests", text, n)
				}
				return
			}
		}
	}
	f("latency ± 5 %", 44, 44) // looks at 40 and 44
	f("latency.p90 ± 5 %", 220, 220)
	f("latency.p99 ± 5 %", 2200, 2200)
	f("latency.p99 ± 0.2 %", 2900, 5000) // 1.96·3.73/√n is 0.2 of 102 %
}
