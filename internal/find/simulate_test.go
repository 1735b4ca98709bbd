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
		o := r.until(step.At.Seconds(), step.Intervals || step.Do == find.Check)
		if step.Do == find.Check {
			r.reset()
		}
		return o
	})
}

// solve finds where a growing function reaches a limit.
func solve(low, high, limit float64, f func(x float64) float64) float64 {
	for range 30 {
		if mid := (low + high) / 2; f(mid) < limit {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// tailMD1 is the probability that a request spends more than t in the system of a single worker with the constant
// service time d (Erlang's formula).
func tailMD1(rate, d, t float64) float64 {
	t -= d
	sum := 0.0
	for k := 0; float64(k)*d <= t; k++ {
		x := rate * (float64(k)*d - t)
		lg, _ := math.Lgamma(float64(k + 1))
		term := math.Exp(float64(k)*math.Log(math.Abs(x)) - x - lg)
		if x == 0 {
			term = 0
			if k == 0 {
				term = 1
			}
		}
		if k%2 == 1 {
			term = -term
		}
		sum += term
	}
	return 1 - (1-rate*d)*sum
}

// tailMMC is the same for c workers with exponential service times of the rate mu each.
func tailMMC(rate, mu float64, c int, t float64) float64 {
	a := rate / mu
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	waits := term / (1 - a/float64(c))
	waits /= sum + waits
	x := float64(c) - 1 - a
	return math.Exp(-mu*t) * (1 + waits*(1-math.Exp(-mu*x*t))/x)
}

// meanBatches is the mean time in the system of a batcher with Poisson arrivals, in seconds: by the Markov chain of the number of
// waiting requests at the ends of batches, and Little's law.
func meanBatches(rate float64, q batcher) float64 {
	const states = 150
	took := func(waiting int) float64 { return q.fixed + float64(min(max(1, waiting), q.most))*q.each }
	arrivals := make([][]float64, q.most+1) // by batch size
	for n := 1; n <= q.most; n++ {
		p := make([]float64, states)
		p[0] = math.Exp(-rate * took(n))
		for k := 1; k < states; k++ {
			p[k] = p[k-1] * rate * took(n) / float64(k)
		}
		arrivals[n] = p
	}
	share := make([]float64, states)
	share[0] = 1
	for range 2000 {
		next := make([]float64, states)
		for w, s := range share {
			if s < 1e-14 {
				continue
			}
			n := min(max(1, w), q.most)
			for k, p := range arrivals[n][:states-max(0, w-n)] {
				next[max(0, w-n)+k] += s * p
			}
		}
		change := 0.0
		for i := range next {
			change = max(change, math.Abs(next[i]-share[i]))
		}
		if share = next; change < 1e-10 {
			break
		}
	}
	var time, area float64
	for w, s := range share {
		d := took(w)
		time += s * d
		if w == 0 {
			time += s / rate
		}
		area += s * (float64(max(1, w))*d + rate*d*d/2)
	}
	return area / time / rate
}
