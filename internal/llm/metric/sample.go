package metric

import "github.com/redline-bench/redline/internal/result"

// Sample returns every metric that a collector with these options can have, to check names before a run. Their values say
// nothing.
func Sample(o Options) []result.Metric {
	c := New(o)
	for i := range c.series {
		c.series[i].Add(1)
	}
	for _, s := range []*series{&c.gaps, &c.perToken, &c.opening} {
		s.Add(1)
	}
	c.ok, c.failed, c.cut, c.lastEnd, c.ended = 1, 1, 1, 1, 1
	return append(c.Metrics(), c.Adjusted()...)
}
