package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// tailRequests is how many requests must be beyond a percentile of one run for it to be judged: a p99 needs 1,000 requests.
const tailRequests = 10

// estimate is one number of one run. reach is how far the true value may be from it; nil if the run does not show its
// variation.
type estimate struct {
	value float64
	reach reach
}

// reach returns how far below and above its estimate the logarithm of the true value may be, with a confidence. A side without
// a bound is infinite.
type reach func(confidence float64) (down, up float64)

// quantiles caches the quantiles of Student's distribution for one comparison.
type quantiles map[[2]float64]float64

// normal as degrees of freedom is the normal distribution.
var normal = math.Inf(1)

func (q quantiles) at(confidence, df float64) float64 {
	if math.IsInf(df, 1) {
		return math.Sqrt2 * math.Erfinv(confidence)
	}
	key := [2]float64{confidence, df}
	v, ok := q[key]
	if !ok {
		v = stats.TQuantile(confidence, df)
		q[key] = v
	}
	return v
}

// estimateOf returns a number of a level with its error: from the batches of the merged windows, else from the number's own
// interval.
func (q quantiles) estimateOf(lv *result.Level, name string) estimate {
	r, _ := lv.Read(name)
	e := estimate{value: r.Value}
	if r.Value <= 0 { // 0 has no logarithm
		return e
	}
	if e.reach = q.ofBatches(lv.Batches, name); e.reach != nil {
		return e
	}
	head, stat, _ := strings.Cut(name, ".")
	if tag, ok := sameAs[name]; ok && lv.Metric(head) == nil {
		head, stat, _ = strings.Cut(tag, ".")
	}
	if m := lv.Metric(head); m != nil {
		e.reach = q.ofMetric(m, stat)
	}
	return e
}

// noInterval says why the runs do not show how much a number varies.
func noInterval(levels []*result.Level, name string) string {
	_, stat, tagged := strings.Cut(name, ".")
	if !tagged {
		stat = name
	}
	p, isTail := percentile(stat)
	for _, lv := range levels {
		switch r, _ := lv.Read(name); {
		case r.Value <= 0:
			return "a value is 0"
		case isTail && lv.Client.Requests > 0 && float64(lv.Client.Requests)*(1-p) < tailRequests:
			return fmt.Sprintf("%s needs %.0f requests", stat, tailRequests/(1-p))
		}
	}
	for _, lv := range levels {
		if len(lv.Batches) == 0 && len(lv.Metrics) == 0 && len(lv.Windows) == 0 {
			return "the file states no spread"
		}
	}
	return "a run is too short"
}

// sameAs maps headline numbers to the equal metrics of language models.
var sameAs = map[string]string{
	"throughput": "request_throughput", "avg": "request_latency.avg",
	"p50": "request_latency.p50", "p90": "request_latency.p90", "p99": "request_latency.p99",
}

// ofMetric scales the interval of a metric to other confidences. It does not use a percentile with few requests beyond it.
func (q quantiles) ofMetric(m *result.Metric, stat string) reach {
	value, in := m.Avg, m.Interval
	if p, ok := percentile(stat); ok {
		if !m.Distributed() || float64(m.Count)*(1-p) < tailRequests {
			return nil
		}
		q := m.Point(p * 100)
		value, in = q.V, q.Interval
		if in == nil {
			return nil
		}
	}
	return q.ofInterval(value, in)
}

// ofInterval scales the interval of a value to other confidences; nil where it has no two ends around the value.
func (q quantiles) ofInterval(value float64, in *result.Interval) reach {
	const df = 30 // assumed, because an interval does not state the error of its width
	if in == nil || in.Low <= 0 || in.Low >= in.High || value < in.Low || value > in.High || in.Level <= 0 || in.Level >= 1 {
		return nil
	}
	down, up := math.Log(value/in.Low), math.Log(in.High/value)
	level := in.Level
	return func(confidence float64) (float64, float64) {
		times := q.at(confidence, df) / q.at(level, normal)
		return down * times, up * times
	}
}

// percentile reads p99 as 0.99.
func percentile(name string) (p float64, ok bool) {
	digits, ok := strings.CutPrefix(name, "p")
	v, err := strconv.ParseFloat(digits, 64)
	return v / 100, ok && err == nil && v > 0 && v < 100
}
