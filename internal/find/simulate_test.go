//go:build !race

// Simulations have no threads and are slow under the race detector: `make unit` runs them without it.

package find_test

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// server is a simulated server. Times are seconds. It calls emit with the arrival and the end of every request, in about
// the order of the ends, and at the latest when the simulation has advanced to the end.
type server interface {
	arrive(at float64)
	advance(to float64)
}

// maker makes an idle server. began is the time since the search began.
type maker func(rng *rand.Rand, began float64, emit func(at, end float64)) server

// fifo is a queue with some workers.
type fifo struct {
	free    []float64 // when each worker is
	service func(start float64) float64
	emit    func(at, end float64)
}

func (q *fifo) arrive(at float64) {
	w := 0
	for i := range q.free {
		if q.free[i] < q.free[w] {
			w = i
		}
	}
	start := max(at, q.free[w])
	q.free[w] = start + q.service(start)
	q.emit(at, q.free[w])
}

func (q *fifo) advance(float64) {}

// batcher works on up to most requests at once, in the time fixed + n·each.
type batcher struct {
	most        int
	fixed, each float64
	free        float64
	waiting     []float64
	emit        func(at, end float64)
}

func (q *batcher) arrive(at float64) {
	q.advance(at)
	q.waiting = append(q.waiting, at)
}

func (q *batcher) advance(to float64) {
	for len(q.waiting) > 0 && max(q.free, q.waiting[0]) < to {
		start := max(q.free, q.waiting[0])
		n := 0
		for n < min(q.most, len(q.waiting)) && q.waiting[n] <= start {
			n++
		}
		q.free = start + q.fixed + float64(n)*q.each
		for _, at := range q.waiting[:n] {
			q.emit(at, q.free)
		}
		q.waiting = append(q.waiting[:0], q.waiting[n:]...)
	}
}

// figure is the metric of an objective: a percentile of the latency in milliseconds, or its mean where p is 0.
type figure struct{ p float64 }

// run is the simulation of one load.
type run struct {
	rng      *rand.Rand
	rate     float64
	server   server
	figures  []figure
	from     float64 // requests that arrive earlier are not measured
	now      float64
	next     float64 // arrival
	arrived  int
	ended    int
	pending  []pending
	trail    *stats.Trail
	sample   *stats.Sample[int64]
	sum      float64
	readings []find.Reading
}

type pending struct{ at, end float64 }

func start(rng *rand.Rand, rate, began, settle float64, idle maker, figures []figure) *run {
	r := &run{rng: rng, rate: rate, figures: figures, from: settle}
	r.reset()
	r.server = idle(rng, began, func(at, end float64) { r.pending = append(r.pending, pending{at, end}) })
	r.next = rng.ExpFloat64() / rate
	return r
}

// reset forgets what was measured.
func (r *run) reset() {
	var percentiles []float64
	for _, f := range r.figures {
		if f.p > 0 {
			percentiles = append(percentiles, f.p)
		}
	}
	r.trail, r.sample, r.sum = stats.NewTrail(percentiles...), &stats.Sample[int64]{}, 0
}

// until runs the load up to a time and returns what is seen then.
func (r *run) until(to float64, look bool) find.Observation {
	for r.next <= to {
		r.server.arrive(r.next)
		r.arrived++
		r.next += r.rng.ExpFloat64() / r.rate
		if len(r.pending) > 4096 {
			r.collect(r.next)
		}
	}
	r.now = to
	r.server.advance(to)
	r.collect(to)
	if look {
		r.readings = r.read()
	}
	return find.Observation{Elapsed: duration(to), Requests: r.ended, Backlog: r.arrived - r.ended, Readings: r.readings}
}

// collect measures the requests that have ended.
func (r *run) collect(to float64) {
	kept := r.pending[:0]
	for _, p := range r.pending {
		if p.end > to {
			kept = append(kept, p)
			continue
		}
		r.ended++
		if p.at >= r.from {
			ms := 1e3 * (p.end - p.at)
			r.trail.Add(ms)
			r.sample.Add(int64(1e6 * ms))
			r.sum += ms
		}
	}
	r.pending = kept
}

// read computes the readings as a run does.
func (r *run) read() []find.Reading {
	n := int(r.sample.Count())
	out := make([]find.Reading, len(r.figures))
	if n == 0 {
		for i := range out {
			out[i].Missing = true
		}
		return out
	}
	mean := r.sum / float64(n)
	inFlight := max(1, int(math.Round(r.rate*mean/1e3)))
	rank := r.sample.Ranks()
	at := func(k int) float64 { return rank(k) / 1e6 }
	dependences, known := r.trail.Dependences(inFlight)
	percentile := 0
	for i, f := range r.figures {
		var b stats.Bounds
		var ok bool
		if f.p == 0 {
			out[i].Value = mean
			b, ok = r.trail.MeanBounds(inFlight, find.Level)
		} else {
			out[i].Value = stats.Interpolate(f.p, n, at)
			if known[percentile] {
				b, ok = stats.QuantileBounds(f.p, n, at, dependences[percentile], find.Level)
			}
			percentile++
		}
		out[i].Unit = "ms"
		if ok {
			out[i].Interval = interval(b, out[i].Value)
		}
	}
	return out
}

func interval(b stats.Bounds, value float64) *result.Interval {
	iv := &result.Interval{Low: min(b.Low, value), Level: find.Level, Open: math.IsInf(b.High, 1)}
	if !iv.Open {
		iv.High = max(b.High, value)
	}
	return iv
}

func duration(seconds float64) time.Duration { return time.Duration(math.Round(1e9 * seconds)) }

// drive runs a search on a simulated server, and returns the answer and the time that it took.
func drive(s *find.Search, conf find.Config, rng *rand.Rand, idle maker, figures []figure) (find.Answer, time.Duration) {
	var began float64 // when the current load did
	var r *run
	return play(s, func(step find.Step, fresh bool) find.Observation {
		if step.Do == find.Drain {
			end := r.now
			for _, p := range r.pending {
				end = max(end, p.end)
			}
			began += end
			return find.Observation{Elapsed: duration(end - r.now)}
		}
		settle := conf.Settle.Seconds()
		if step.Do == find.Check {
			settle = 0
		}
		if fresh {
			if r != nil {
				began += r.now
			}
			r = start(rng, step.Load, began, settle, idle, figures)
		}
		o := r.until(step.At.Seconds(), step.At >= step.Look || step.Do == find.Check)
		if step.Do == find.Check {
			r.reset()
		}
		return o
	})
}
