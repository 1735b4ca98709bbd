package load

import (
	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/result"
)

// Merge makes one level of repeats. Counts are those of all runs together, other figures the means of the runs, as
// metric.Repeats has them. The client's health is that of the last run.
func Merge(runs []*Outcome, level float64) *Outcome {
	if len(runs) == 0 {
		return nil
	}
	last := runs[len(runs)-1]
	if len(runs) == 1 {
		return last
	}
	var metrics [][]result.Metric
	var clients []result.Client
	out := *last
	out.Level.Windows, out.Level.Failures, out.Reasons = nil, nil, nil
	for _, r := range runs {
		metrics = append(metrics, r.Level.Metrics)
		clients = append(clients, r.Level.Client)
		out.Level.Windows = append(out.Level.Windows, r.Level.Windows...)
		out.Level.Failures = append(out.Level.Failures, r.Level.Failures...)
		out.Reasons = append(out.Reasons, r.Reasons...)
	}
	out.Level.Metrics = metric.Repeats(metrics, max(level, 0.5))
	out.Level.Client = metric.MergeClients(clients)
	out.Level.Used = len(runs)
	return &out
}
