package metric

import (
	"math"

	"github.com/redline-bench/redline/internal/result"
)

// Restate replaces the latencies of a client's summary by those of this package, so that all parts of a report agree: they end
// with the last chunk, and the deviation is the population's.
func (c *Collector) Restate(to *result.Client) {
	sent := LatencySent
	if c.series[sent].Count() == 0 {
		sent = Latency // there was no schedule
	}
	restate(&c.series[Latency], &to.Latency)
	restate(&c.series[Latency], &to.Due)
	restate(&c.series[sent], &to.Sent)
	if to.First != nil {
		restate(&c.series[TTFT], to.First)
	}
}

// restate replaces a summary, unless the series is empty.
func restate(s *series, l *result.Latency) {
	if s.Count() == 0 {
		return
	}
	ns := func(ms float64) int64 { return int64(math.Round(ms * 1e6)) }
	l.Count, l.Exact = s.Count(), s.Exact()
	l.Min, l.Max, l.Avg, l.StdDev = ns(s.Min()), ns(s.Max()), ns(s.Mean()), ns(s.PopulationStdDev())
	for i := range l.Percentiles {
		q := &l.Percentiles[i]
		if !q.AtLeast {
			q.Ns = ns(s.Quantiles(q.P)[0])
		}
	}
}
