package measure

import (
	"math"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// Sample is a level with every number that a run can have, to check names before the run. Its values say nothing. m may be nil;
// streamed: a request has several responses, so it has a time to the first.
func Sample(m *plan.Measure, streamed bool) *result.Level {
	l := result.Metric{Unit: result.Nanoseconds}
	for _, p := range percentiles {
		l.Quantiles = append(l.Quantiles, result.Quantile{P: p})
	}
	if m != nil && m.Percentile > 0 {
		l.Quantiles = append(l.Quantiles, result.Quantile{P: float64(m.Percentile)})
	}
	lv := &result.Level{
		Client: result.Client{Requests: math.MaxUint32, Latency: l, Sent: l, Due: l},
		Server: &result.Server{},
	}
	if streamed {
		lv.Client.First = &l
	}
	return lv
}
