package metric

import (
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// summed are the counts and totals, which are added over several runs.
var summed = []string{
	"good_request_count", "request_count", "error_request_count", "completed_request_count", "canceled_request_count", "benchmark_duration",
	"total_isl", "total_osl", "total_output_tokens", "total_reasoning_tokens", "total_usage_prompt_tokens", "total_usage_completion_tokens",
	"total_usage_total_tokens", "total_usage_prompt_cache_read_tokens", "osl_mismatch_count", "usage_discrepancy_count",
}

// shares are ratios of two counts, which are computed from the sums over several runs.
var shares = []struct {
	tag, part, whole string
	times            float64
}{
	{"request_error_rate", "error_request_count", "completed_request_count", 100},
	{"good_request_fraction", "good_request_count", "completed_request_count", 1},
	{"overall_usage_prompt_cache_read_pct", "total_usage_prompt_cache_read_tokens", "total_usage_prompt_tokens", 100},
}

// Repeats merges the metrics of several runs. Counts and totals are sums over all runs, shares are computed from the sums, and
// all other metrics are means of the runs that have them, with Student's t interval.
func Repeats(runs [][]result.Metric, level float64) []result.Metric {
	var out []result.Metric
	for _, run := range runs {
		for _, m := range run {
			if _, ok := Find(out, m.Tag); !ok {
				out = append(out, repeated(runs, m, level))
			}
		}
	}
	for i := range out {
		for _, s := range shares {
			part, _ := Find(out, s.part)
			if whole, ok := Find(out, s.whole); ok && out[i].Tag == s.tag && whole.Avg > 0 {
				out[i].Avg, out[i].Interval = s.times*part.Avg/whole.Avg, nil
			}
		}
	}
	return out
}

// repeated is one metric over the runs.
func repeated(runs [][]result.Metric, m result.Metric, level float64) result.Metric {
	one := result.Metric{Tag: m.Tag, Name: m.Name, Unit: m.Unit, Higher: m.Higher}
	var avgs []float64
	by := map[float64][]float64{}
	for _, r := range runs {
		o, ok := Find(r, m.Tag)
		if !ok {
			continue
		}
		avgs = append(avgs, o.Avg)
		for _, q := range o.Quantiles {
			by[q.P] = append(by[q.P], q.V)
		}
	}
	switch {
	case m.Tag == "min_request_timestamp":
		one.Avg = slices.Min(avgs)
		return one
	case m.Tag == "max_response_timestamp":
		one.Avg = slices.Max(avgs)
		return one
	case slices.Contains(summed, m.Tag):
		for _, v := range avgs {
			one.Avg += v
		}
		return one
	}
	one.Avg, one.Interval = student(avgs, level)
	if !m.Distributed() {
		return one
	}
	all := sampleOf(avgs)
	one.Count, one.Min, one.Max, one.Std = all.Count(), all.Min(), all.Max(), all.StdDev()
	for _, q := range m.Quantiles {
		v, iv := student(by[q.P], level)
		one.Quantiles = append(one.Quantiles, result.Quantile{P: q.P, V: v, Interval: iv})
	}
	return one
}

// student is the mean of some values and its t interval; none for a single value.
func student(values []float64, level float64) (mean float64, iv *result.Interval) {
	s := sampleOf(values)
	if s.Count() < 2 {
		return s.Mean(), nil
	}
	n := float64(s.Count())
	half := stats.TQuantile(level, n-1) * s.StdDev() / math.Sqrt(n)
	return s.Mean(), &result.Interval{Low: s.Mean() - half, High: s.Mean() + half, Level: level}
}

func sampleOf(values []float64) (s series) {
	for _, v := range values {
		s.Add(v)
	}
	return s
}
