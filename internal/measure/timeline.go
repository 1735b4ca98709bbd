package measure

import (
	"math"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// A timeline starts with short slices; when there are too many, each two are merged.
const (
	firstStep  = int64(100 * time.Millisecond)
	mostSlices = 240
	// heatMerge is the number of buckets of stats.Octave in one bucket of the heat map, which has eight per doubling.
	heatMerge = stats.Octaves / 8
)

// Timeline collects what happened over time, in bounded memory. It receives every record, measured or not.
type Timeline struct {
	setup  Setup
	start  int64
	step   int64
	slices []slice
	// lo and hi bound the slice that was used last: most records need no division.
	last   int
	lo, hi int64
}

type slice struct {
	sent, due, ended, failed, events uint64
	failedBy                         [record.NumClasses]uint64
	flightNs, latencyNs              int64 // sums
	max                              int64
	latency, first, gaps             stats.Buckets[uint32]
	tokens                           float64
	widest                           int64 // gap
}

// NewTimeline makes a timeline that begins at start, a reading of clock.Now.
func NewTimeline(setup Setup, start int64) *Timeline {
	return &Timeline{setup: setup, start: start, step: firstStep}
}

// Add takes one record in.
func (t *Timeline) Add(r *record.Record) {
	if r.Flags&record.Closing != 0 {
		return
	}
	if r.Sent >= t.start {
		t.at(r.Sent).sent++
	}
	if t.setup.Open && r.Due >= t.start {
		t.at(r.Due).due++
	}
	if r.End < t.start {
		return
	}
	s := t.at(r.End) // it makes the slices that the flight passes through
	t.addFlight(r.Sent, r.End)
	if r.Class != record.OK {
		if r.Class != record.Canceled {
			s.failed++
			s.failedBy[r.Class]++
		}
		return
	}
	s.ended++
	s.events += uint64(r.Responses)
	latency := r.End - t.setup.begin(r.Due, r.Sent)
	s.max = max(s.max, latency)
	s.latencyNs += latency
	s.latency.Add(float64(latency), 1)
	if t.setup.Streaming && r.Responses > 0 {
		s.first.Add(float64(r.First-t.setup.begin(r.Due, r.Sent)), 1)
	}
}

// NoGap is the gap of the first tokens of a response.
const NoGap = -1

// Token adds n tokens of a language model that arrived at a time. gap is the time since the previous tokens, or NoGap.
func (t *Timeline) Token(at, gap int64, n float64) {
	if at < t.start {
		return
	}
	s := t.at(at)
	s.tokens += n
	if gap >= 0 {
		s.widest = max(s.widest, gap)
		s.gaps.Add(float64(gap), 1)
	}
}

// at returns the slice of a time at or after the start, and creates the slices up to it.
func (t *Timeline) at(when int64) *slice {
	if when >= t.lo && when < t.hi {
		return &t.slices[t.last]
	}
	i := (when - t.start) / t.step
	for i >= mostSlices {
		t.halve()
		i = (when - t.start) / t.step
	}
	for int64(len(t.slices)) <= i {
		t.slices = append(t.slices, slice{})
	}
	t.last, t.lo = int(i), t.start+i*t.step
	t.hi = t.lo + t.step
	return &t.slices[i]
}

// addFlight adds a request's time in flight to the slices that it passed through.
func (t *Timeline) addFlight(from, to int64) {
	from = max(from, t.start)
	if from >= t.lo && to <= t.hi {
		t.slices[t.last].flightNs += to - from
		return
	}
	for i := (from - t.start) / t.step; from < to; i++ {
		edge := min(to, t.start+(i+1)*t.step)
		t.slices[i].flightNs += edge - from
		from = edge
	}
}

// halve merges each two slices.
func (t *Timeline) halve() {
	half := t.slices[:0]
	for i := 0; i < len(t.slices); i += 2 {
		s := t.slices[i]
		if i+1 < len(t.slices) {
			s.merge(&t.slices[i+1])
		}
		half = append(half, s)
	}
	clear(t.slices[len(half):])
	t.slices = half
	t.step *= 2
	t.lo, t.hi = 0, 0
}

func (s *slice) merge(o *slice) {
	s.sent += o.sent
	s.due += o.due
	s.ended += o.ended
	s.failed += o.failed
	s.events += o.events
	s.flightNs += o.flightNs
	s.latencyNs += o.latencyNs
	s.max = max(s.max, o.max)
	for c, n := range o.failedBy {
		s.failedBy[c] += n
	}
	stats.MergeBuckets(&s.latency, &o.latency)
	stats.MergeBuckets(&s.first, &o.first)
	s.tokens += o.tokens
	s.widest = max(s.widest, o.widest)
	stats.MergeBuckets(&s.gaps, &o.gaps)
}

// Result returns the timeline in the form of the result. The last slice ends at until, the end of the level as a reading of
// clock.Now.
func (t *Timeline) Result(until int64) *result.Timeline {
	out := &result.Timeline{StartUnixNs: clock.Wall(t.start), StepNs: t.step, Slices: make([]result.Slice, len(t.slices))}
	for i := range t.slices {
		width := t.step
		if end := t.start + int64(i+1)*t.step; end > until && until > end-t.step {
			width = until - (end - t.step)
		}
		out.Slices[i] = t.slices[i].result(width)
	}
	return out
}

func (s *slice) result(width int64) result.Slice {
	r := result.Slice{
		Sent: s.sent, Ended: s.ended, Failed: s.failed, InFlight: float64(s.flightNs) / float64(width),
		Asked: float64(s.due) / time.Duration(width).Seconds(), MaxNs: s.max, Events: s.events,
	}
	for c, n := range s.failedBy {
		if n > 0 {
			if r.FailedBy == nil {
				r.FailedBy = map[string]uint64{}
			}
			r.FailedBy[record.Class(c).String()] = n
		}
	}
	if s.ended > 0 {
		r.AvgNs = s.latencyNs / int64(s.ended)
		q := nanoseconds(&s.latency, s.max, 50, 90, 99)
		r.P50Ns, r.P90Ns, r.P99Ns = q[0], q[1], q[2]
		r.Heat = coarse(s.latency.Octaves())
	}
	q := nanoseconds(&s.first, s.max, 50, 99)
	r.FirstP50Ns, r.FirstP99Ns = q[0], q[1]
	r.Tokens = s.tokens
	q = nanoseconds(&s.gaps, s.widest, 50, 99)
	r.GapP50Ns, r.GapP99Ns = q[0], q[1]
	return r
}

// Latency is the headline latency from the start of the timeline until now, for the live page. Its percentiles come from
// buckets; see stats.MaxError.
func (t *Timeline) Latency() result.Metric {
	var all stats.Buckets[uint64]
	l := result.Metric{Unit: result.Nanoseconds}
	var sum, longest int64
	for i := range t.slices {
		s := &t.slices[i]
		sum += s.latencyNs
		longest = max(longest, s.max)
		stats.MergeBuckets(&all, &s.latency)
	}
	if l.Count = all.Count(); l.Count == 0 {
		return l
	}
	l.Max, l.Avg = float64(longest), math.Floor(float64(sum)/float64(l.Count))
	for i, v := range nanoseconds(&all, longest, percentiles...) {
		l.Quantiles = append(l.Quantiles, result.Quantile{P: percentiles[i], V: float64(v)})
	}
	return l
}

// nanoseconds returns percentiles of the times in b, of which longest is the largest; 0 if b is empty.
func nanoseconds[C uint32 | uint64](b *stats.Buckets[C], longest int64, ps ...float64) []int64 {
	out := make([]int64, len(ps))
	for i, v := range b.Quantiles(float64(longest), ps...) {
		out[i] = int64(math.Round(v))
	}
	return out
}

// HeatLow is the lower bound of the bucket of a heat map that ends at upTo.
func HeatLow(upTo int64) int64 {
	first := stats.Octave(upTo) / heatMerge * heatMerge
	if first == 0 {
		return 0
	}
	return stats.OctaveEnd(first - 1)
}

// coarse keeps the buckets of a heat map that are not empty.
func coarse(counts []uint64) []result.Bucket {
	var out []result.Bucket
	for i := 0; i < len(counts); i += heatMerge {
		var n uint64
		for _, c := range counts[i:min(i+heatMerge, len(counts))] {
			n += c
		}
		if n > 0 {
			out = append(out, result.Bucket{UpToNs: stats.OctaveEnd(i + heatMerge - 1), Count: n})
		}
	}
	return out
}

// Histogram is the distribution of the headline latency.
func (w *Window) Histogram() *result.Histogram {
	s := &w.sent
	if w.setup.Open && !w.setup.FromSend {
		s = &w.due
	}
	h := &result.Histogram{}
	for i, n := range s.Octaves() {
		if n > 0 {
			h.Buckets = append(h.Buckets, result.Bucket{UpToNs: stats.OctaveEnd(i), Count: n})
		}
	}
	return h
}
