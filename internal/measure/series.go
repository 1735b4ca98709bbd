package measure

import (
	"math"
	"slices"
	"strconv"

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
	ps := intervalPercentiles(s.setup)
	c.Latency.Intervals = intervals(&c.Latency, ps, s.latency, &s.latencies, together, level)
	if c.First != nil && s.firsts.Count() >= leastForIntervals {
		c.First.Intervals = intervals(c.First, ps, s.first, &s.firsts, together, level)
	}
}

func intervals(l *result.Latency, ps []float64, t *stats.Trail, s *stats.Sample[int64], together int, level float64) map[string]result.Interval {
	out := map[string]result.Interval{}
	if b, ok := t.MeanBounds(together, level); ok {
		out["avg"] = Around(b, float64(l.Avg), level)
	}
	dependences, known := t.Dependences(together)
	rank := s.EvenRanks()
	for i, p := range ps {
		if !known[i] {
			continue
		}
		if b, ok := stats.QuantileBounds(p, int(s.Count()), rank, dependences[i], level); ok {
			out["p"+strconv.FormatFloat(p, 'g', -1, 64)] = Around(b, float64(l.At(p)), level)
		}
	}
	return out
}

// Around turns bounds into an interval that includes the value itself.
func Around(b stats.Bounds, value, level float64) result.Interval {
	iv := result.Interval{Low: min(b.Low, value), Level: level}
	if iv.Open = math.IsInf(b.High, 1); !iv.Open {
		iv.High = max(b.High, value)
	}
	return iv
}
