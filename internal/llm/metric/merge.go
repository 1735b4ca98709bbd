package metric

import (
	"slices"

	"github.com/redline-bench/redline/internal/result"
)

// MergeClients merges the summaries of several runs: it sums counts and times, and averages rates and latencies.
func MergeClients(runs []result.Client) result.Client {
	out := runs[len(runs)-1]
	out.Requests, out.Responses, out.Sequences, out.Delayed, out.Failed, out.Unanswered, out.Resent, out.DurationNs = 0, 0, 0, 0, 0, 0, 0, 0
	for _, c := range runs {
		out.Requests += c.Requests
		out.Responses += c.Responses
		out.Sequences += c.Sequences
		out.Delayed += c.Delayed
		out.Failed += c.Failed
		out.Unanswered += c.Unanswered
		out.Resent += c.Resent
		out.DurationNs += c.DurationNs
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
	latency := func(of func(c *result.Client) *result.Latency) result.Latency {
		var list []*result.Latency
		for i := range runs {
			if l := of(&runs[i]); l != nil && l.Count > 0 {
				list = append(list, l)
			}
		}
		return mergeLatencies(list)
	}
	out.Latency = latency(func(c *result.Client) *result.Latency { return &c.Latency })
	out.Sent = latency(func(c *result.Client) *result.Latency { return &c.Sent })
	out.Due = latency(func(c *result.Client) *result.Latency { return &c.Due })
	if slices.ContainsFunc(runs, func(c result.Client) bool { return c.First != nil }) {
		first := latency(func(c *result.Client) *result.Latency { return c.First })
		out.First = &first
	}
	return out
}

// mergeLatencies averages means, deviations and percentiles, and takes the minimum and maximum of all.
func mergeLatencies(runs []*result.Latency) result.Latency {
	if len(runs) == 0 {
		return result.Latency{}
	}
	out := *runs[0]
	out.Percentiles = slices.Clone(out.Percentiles)
	mean := func(of func(l *result.Latency) int64) int64 {
		sum := 0.0
		for _, l := range runs {
			sum += float64(of(l))
		}
		return int64(sum / float64(len(runs)))
	}
	out.Count = 0
	for _, l := range runs {
		out.Count += l.Count
		out.Min, out.Max = min(out.Min, l.Min), max(out.Max, l.Max)
		out.Exact = out.Exact && l.Exact
	}
	out.Avg = mean(func(l *result.Latency) int64 { return l.Avg })
	out.StdDev = mean(func(l *result.Latency) int64 { return l.StdDev })
	for i := range out.Percentiles {
		out.Percentiles[i].Ns = mean(func(l *result.Latency) int64 { return l.Percentiles[i].Ns })
	}
	return out
}
