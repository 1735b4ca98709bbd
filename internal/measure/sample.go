package measure

import (
	"math"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// Sample is a level with every number that a run of the plan can have, to check names before the run. Its values say nothing.
func Sample(m *plan.Measure) *result.Level {
	var l result.Latency
	for _, p := range percentiles {
		l.Percentiles = append(l.Percentiles, result.Percentile{P: p})
	}
	if m != nil && m.Percentile > 0 {
		l.Percentiles = append(l.Percentiles, result.Percentile{P: float64(m.Percentile)})
	}
	return &result.Level{
		Client: result.Client{Requests: math.MaxUint32, Latency: l, Sent: l, Due: l, First: &l},
		Server: &result.Server{},
	}
}
