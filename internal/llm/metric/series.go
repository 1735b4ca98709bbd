package metric

import (
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// exactLimit is how many single values of a quantity are kept. A level has about thirty quantities.
const exactLimit = 1 << 15

// Percentiles are the percentiles of every distribution.
var Percentiles = []float64{1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9}

// series collects the values of one quantity.
type series = stats.Sample[float64]

// distribution computes the metric of a quantity. Its deviation is the population's, as AIPerf has it.
func distribution(d Definition, s *series) result.Metric {
	m := result.Metric{
		Tag: d.Tag, Name: d.Name, Unit: d.Unit, Higher: d.Higher, Avg: s.Mean(), Count: s.Count(), Sum: s.Sum(), Min: s.Min(), Max: s.Max(),
		Std: s.PopulationStdDev(), Approximate: !s.Exact(),
	}
	for i, v := range s.Quantiles(Percentiles...) {
		m.Quantiles = append(m.Quantiles, result.Quantile{P: Percentiles[i], V: v})
	}
	return m
}
