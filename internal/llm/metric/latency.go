package metric

import (
	"math"

	"github.com/redline-bench/redline/internal/result"
)

// Restate puts the latencies of a client's summary by the rules of this package, so that a report has one figure for one
// thing: they end with the last content, percentiles are interpolated and the deviation is the population's.
func (c *Collector) Restate(to *result.Client) {
	sent := LatencySent
	if c.series[sent].n == 0 {
		sent = Latency // there was no schedule
	}
	c.series[Latency].restate(&to.Latency)
	c.series[Latency].restate(&to.Due)
	c.series[sent].restate(&to.Sent)
	if to.First != nil {
		c.series[TTFT].restate(to.First)
	}
}

// restate replaces the figures of a summary; one of nothing stays as it is.
func (s *series) restate(l *result.Latency) {
	if s.n == 0 {
		return
	}
	ns := func(ms float64) int64 { return int64(math.Round(ms * 1e6)) }
	l.Count, l.Exact = s.n, s.exact()
	l.Min, l.Max, l.Avg, l.StdDev = ns(s.min), ns(s.max), ns(s.mean), ns(s.std())
	for i := range l.Percentiles {
		q := &l.Percentiles[i]
		if !q.AtLeast {
			q.Ns = ns(s.quantiles([]float64{q.P})[0])
		}
	}
}
