package metric

import (
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/result"
)

// MergeClients merges the summaries of several runs: it sums counts and times, and averages rates and latencies.
func MergeClients(runs []result.Client) result.Client {
	out := runs[len(runs)-1]
	for i := range runs[:len(runs)-1] {
		out.AddCounts(&runs[i])
		out.DurationNs += runs[i].DurationNs
	}
	mean := func(of func(c *result.Client) float64) float64 {
		sum := 0.0
		for i := range runs {
			sum += of(&runs[i])
		}
		return sum / float64(len(runs))
	}
	out.InferPerSec = mean(func(c *result.Client) float64 { return c.InferPerSec })
	out.ResponsePerSec = mean(func(c *result.Client) float64 { return c.ResponsePerSec })
	out.SequencePerSec = mean(func(c *result.Client) float64 { return c.SequencePerSec })
	out.SendRate = mean(func(c *result.Client) float64 { return c.SendRate })
	out.OverheadPercent = mean(func(c *result.Client) float64 { return c.OverheadPercent })
	latency := func(of func(c *result.Client) *result.Metric) *result.Metric {
		var list []*result.Metric
		for i := range runs {
			if m := of(&runs[i]); m != nil && m.Count > 0 {
				list = append(list, m)
			}
		}
		return mergeLatencies(list)
	}
	out.Latency = *latency(func(c *result.Client) *result.Metric { return &c.Latency })
	out.Sent = *latency(func(c *result.Client) *result.Metric { return &c.Sent })
	out.Due = *latency(func(c *result.Client) *result.Metric { return &c.Due })
	if slices.ContainsFunc(runs, func(c result.Client) bool { return c.First != nil }) {
		out.First = latency(func(c *result.Client) *result.Metric { return c.First })
	}
	return out
}

// mergeLatencies averages means, deviations and percentiles, and takes the minimum and maximum of all.
func mergeLatencies(runs []*result.Metric) *result.Metric {
	if len(runs) == 0 {
		return &result.Metric{Unit: result.Nanoseconds}
	}
	out := *runs[0]
	out.Interval, out.Quantiles = nil, slices.Clone(out.Quantiles)
	mean := func(of func(m *result.Metric) float64) float64 {
		sum := 0.0
		for _, m := range runs {
			sum += of(m)
		}
		return math.Trunc(sum / float64(len(runs)))
	}
	out.Count, out.Sum = 0, 0
	for _, m := range runs {
		out.Count += m.Count
		out.Sum += m.Sum
		out.Min, out.Max = min(out.Min, m.Min), max(out.Max, m.Max)
		out.Approximate = out.Approximate || m.Approximate
	}
	out.Avg = mean(func(m *result.Metric) float64 { return m.Avg })
	out.Std = mean(func(m *result.Metric) float64 { return m.Std })
	for i := range out.Quantiles {
		out.Quantiles[i].V = mean(func(m *result.Metric) float64 { return m.Quantiles[i].V })
	}
	return &out
}
