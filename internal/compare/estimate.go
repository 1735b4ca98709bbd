package compare

import (
	"math"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// tailRequests is how many requests must lie beyond a percentile of one run before it is judged: a p99 needs 1,000.
const tailRequests = 10

// estimate is one number of one run. reach tells how far the true value may lie from it; nil if the run does not
// show how much it varies.
type estimate struct {
	value float64
	reach reach
}

// reach is how far below and above its estimate the logarithm of the true value may lie, with a confidence. Infinite is
// a side without a bound.
type reach func(confidence float64) (down, up float64)

// quantiles are those of Student's distribution, each computed once a comparison.
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

// estimateOf is a number of a level with its error: from the batches of the time that the number comes from, else from
// the number's own interval.
func (q quantiles) estimateOf(lv *result.Level, name string) estimate {
	r, _ := lv.Read(name)
	e := estimate{value: r.Value}
	if r.Value <= 0 { // nothing has no logarithm
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

// sameAs are the metrics of language models that the headline numbers are.
var sameAs = map[string]string{
	"throughput": "request_throughput", "avg": "request_latency.avg",
	"p50": "request_latency.p50", "p90": "request_latency.p90", "p99": "request_latency.p99",
}

// ofMetric stretches the interval of a metric to other confidences. That of a percentile with few requests beyond it is
// left alone.
func (q quantiles) ofMetric(m *result.Metric, stat string) reach {
	const df = 30 // an interval does not say how well its own width is known
	value, in := m.Avg, m.Interval
	if p, ok := percentile(stat); ok {
		if m.Dist == nil || float64(m.Dist.Count)*(1-p) < tailRequests {
			return nil
		}
		own, ok := m.Intervals[stat]
		if !ok {
			return nil
		}
		value, _ = m.Dist.At(p * 100)
		in = &own
	}
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
