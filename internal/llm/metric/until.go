package metric

import (
	"fmt"
	"math"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
)

// Target is the required width of an interval: metric, statistic, and half width as a share of the value.
type Target struct {
	ID    ID
	Stat  string // avg, p50, p90, p95, p99
	Share float64
}

func (t Target) String() string {
	return fmt.Sprintf("%s.%s ± %g %%", definitions[t.ID].Tag, t.Stat, t.Share*100)
}

const (
	// tailRequests is how many requests must be beyond a percentile (for a mean: beyond p50) before its width is checked.
	tailRequests = 20
	// lookAgain: between two checks the requests grow by a tenth. More frequent checks would find a narrow interval by chance.
	lookAgain = 10
)

// Watch detects when a target is reached.
type Watch struct {
	Target Target
	next   uint64 // requests at the next check
	narrow bool   // at the last check
}

// Done checks the interval if there are enough requests, and reports whether it was narrow enough at two checks in a row.
func (w *Watch) Done(c *Collector) bool {
	n := c.series[w.Target.ID].Count()
	if n < max(w.next, w.Target.least()) {
		return false
	}
	w.next = n + n/lookAgain
	before := w.narrow
	w.narrow = c.Width(w.Target) <= w.Target.Share
	return before && w.narrow
}

// least is the smallest number of requests for the target.
func (t Target) least() uint64 {
	beyond := 0.5
	if p, ok := result.ParsePercentile(t.Stat); ok {
		beyond = 1 - p/100
	}
	return uint64(math.Round(tailRequests / beyond))
}

// Width is half the width of an interval as a share of its value; infinite if there is none or it is open.
func (c *Collector) Width(t Target) float64 {
	s, trail := &c.series[t.ID], c.trails[t.ID]
	if s.Count() < minIntervals || trail == nil {
		return math.Inf(1)
	}
	m := distribution(definitions[t.ID], s)
	measure.AddIntervals(&m, trail, s, c.inFlight(), max(c.o.Level, 0.95))
	iv, v := m.IntervalOf(t.Stat), m.Avg
	if p, ok := result.ParsePercentile(t.Stat); ok {
		v = m.At(p)
	}
	if iv == nil || iv.Open {
		return math.Inf(1)
	}
	return (iv.High - iv.Low) / 2 / math.Abs(v)
}
