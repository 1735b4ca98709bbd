package measure

import (
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// Series keeps the latencies of a load in the order of their ends, for the confidence intervals of a result.Client.
type Series struct {
	setup         Setup
	latency       *stats.Trail
	first         *stats.Trail
	latencies     stats.Sample[int64]
	firsts        stats.Sample[int64]
	inFlightNs    int64 // time in flight of all requests
	firstEnd, end int64
}

// intervalsFrom is the lowest percentile that gets an interval.
const intervalsFrom = 50

// leastForIntervals is the smallest number of requests for an interval.
const leastForIntervals = 20

// NewSeries makes an empty series.
func NewSeries(setup Setup) *Series {
	ps := intervalPercentiles(setup)
	return &Series{setup: setup, latency: stats.NewTrail(ps...), first: stats.NewTrail(ps...)}
}

func intervalPercentiles(setup Setup) []float64 {
	return slices.DeleteFunc(slices.Clone(wanted(setup.Percentile)), func(p float64) bool { return p < intervalsFrom })
}

// Add takes one record in.
func (s *Series) Add(r *record.Record) {
	if r.Flags&record.Closing != 0 || r.Class != record.OK {
		return
	}
	begin := s.setup.begin(r.Due, r.Sent)
	s.latency.Add(float64(r.End - begin))
	s.latencies.Add(r.End - begin)
	if s.setup.Streaming && r.Responses > 0 {
		s.first.Add(float64(r.First - begin))
		s.firsts.Add(r.First - begin)
	}
	s.inFlightNs += r.End - begin
	if s.firstEnd == 0 {
		s.firstEnd = r.End
	}
	s.end = max(s.end, r.End)
}

// AddIntervals adds the intervals of the headline latency and of the time to the first response, in nanoseconds.
func (s *Series) AddIntervals(c *result.Client, level float64) {
	if s.latencies.Count() < leastForIntervals {
		return
	}
	// A batch has at least as many requests as are in flight together, because requests that are sent together end together.
	together := 1
	if wall := s.end - s.firstEnd; wall > 0 {
		together = max(1, int(math.Round(float64(s.inFlightNs)/float64(wall))))
	}
	AddIntervals(&c.Latency, s.latency, &s.latencies, together, level)
	if c.First != nil && s.firsts.Count() >= leastForIntervals {
		AddIntervals(c.First, s.first, &s.firsts, together, level)
	}
}

// ranker is a sample that has values by rank.
type ranker interface {
	Count() uint64
	EvenRanks() func(k int) float64
}

// AddIntervals adds the intervals of the mean and of the percentiles of a trail to the metric of its values. A batch has at least as many
// values as requests are in flight together.
func AddIntervals(m *result.Metric, t *stats.Trail, s ranker, together int, level float64) {
	if b, ok := t.MeanBounds(together, level); ok {
		m.Interval = Around(b, m.Avg, level)
	}
	dependences, known := t.Dependences(together)
	rank := s.EvenRanks()
	for i, p := range t.Percentiles() {
		at := slices.IndexFunc(m.Quantiles, func(q result.Quantile) bool { return q.P == p })
		if !known[i] || at < 0 {
			continue
		}
		if b, ok := stats.QuantileBounds(p, int(s.Count()), rank, dependences[i], level); ok {
			m.Quantiles[at].Interval = Around(b, m.Quantiles[at].V, level)
		}
	}
}

// Around turns bounds into an interval that includes the value itself.
func Around(b stats.Bounds, value, level float64) *result.Interval {
	iv := &result.Interval{Low: min(b.Low, value), Level: level}
	if iv.Open = math.IsInf(b.High, 1); !iv.Open {
		iv.High = max(b.High, value)
	}
	return iv
}
