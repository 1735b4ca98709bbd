package metric

import (
	"math"
	"strconv"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// minIntervals is the smallest number of values for an interval.
const minIntervals = 20

// intervalPercentiles are the percentiles that get intervals.
var intervalPercentiles = []float64{50, 90, 95, 99, 99.9}

func percentileName(p float64) string { return "p" + strconv.FormatFloat(p, 'g', -1, 64) }

// inFlight is the mean number of requests in flight, by Little's law. A batch has at least as many requests, because requests
// that are sent together end together.
func (c *Collector) inFlight() int {
	wall := max(c.Duration(), seconds(c.ended-c.began))
	if wall <= 0 {
		return 1
	}
	return max(1, int(math.Round(seconds(c.busyNs)/wall)))
}

// goodInterval is the interval of the share of good requests among n. It is at least as wide as that of independent requests:
// where all of them are good, their spread shows nothing.
func (c *Collector) goodInterval(n float64) *result.Interval {
	if c.o.Level <= 0 {
		return nil
	}
	b := stats.ShareBounds(float64(c.good), n, c.o.Level)
	if wider, ok := c.goodness.MeanBounds(c.inFlight(), c.o.Level); ok {
		b = stats.Bounds{Low: max(0, min(b.Low, wider.Low)), High: min(1, max(b.High, wider.High))}
	}
	return &result.Interval{Low: b.Low, High: b.High, Level: c.o.Level}
}

// The columns of Collector.flow, which has one row per complete response.
const (
	flowTime = iota // since the previous response
	flowRequests
	flowInput
	flowOutput
)

func value(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}
