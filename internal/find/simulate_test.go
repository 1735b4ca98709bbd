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

// server is a simulated server. Times are seconds. It calls emit with the arrival, the end and the metric of every request, in about
// the order of the ends, and at the latest when the simulation has advanced to the end.
type server interface {
	arrive(at float64)
	advance(to float64)
}

// emitter takes in a request that ended.
type emitter func(at, end, metric float64)

// maker makes an idle server. began is the time since the search began.
type maker func(rng *rand.Rand, began float64, emit emitter) server

// fifo is a queue with some workers.
type fifo struct {
	free    []float64 // when each worker is
	service func(start float64) float64
	emit    emitter
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
	q.emit(at, q.free[w], q.free[w]-at)
}

func (q *fifo) advance(float64) {}

// batcher works on up to most requests at once, in the time fixed + n·each.
type batcher struct {
	most        int
	fixed, each float64
	free        float64
	waiting     []float64
	emit        emitter
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
			q.emit(at, q.free, q.free-at)
		}
		q.waiting = append(q.waiting[:0], q.waiting[n:]...)
	}
}

// generator is a server of a language model with continuous batching: each step works on the prompts of new requests and makes a token for
// every request that has its first one. The metric is the time to the first token.
type generator struct {
	rng                     *rand.Rand
	scale                   float64 // of all times
	free                    float64 // when the step ends
	waiting, prompt, active []generation
	emit                    emitter
}

type generation struct {
	at, first float64
	left      int // tokens of the prompt, then of the response
}

// Of a step: the time without work, for a token of a prompt and for one of a response; the most tokens of prompts, and requests at a time.
const (
	stepTime, promptTime, tokenTime = 10e-3, 0.04e-3, 0.2e-3
	promptTokens, responseTokens    = 256, 64 // means
	stepTokens, mostActive          = 512, 64
)

// length is that of a prompt or a response: from half to one and a half times the mean.
func (q *generator) length(mean int) int { return mean/2 + q.rng.IntN(mean+1) }

func (q *generator) arrive(at float64) {
	q.advance(at)
	q.waiting = append(q.waiting, generation{at: at, left: q.length(promptTokens)})
}

func (q *generator) advance(to float64) {
	for {
		start := q.free
		if len(q.prompt)+len(q.active) == 0 {
			if len(q.waiting) == 0 {
				return
			}
			start = max(start, q.waiting[0].at)
		}
		if start >= to {
			return
		}
		for len(q.waiting) > 0 && q.waiting[0].at <= start && len(q.prompt)+len(q.active) < mostActive {
			q.prompt = append(q.prompt, q.waiting[0])
			q.waiting = q.waiting[1:]
		}
		q.step(start)
	}
}

func (q *generator) step(start float64) {
	tokens, made := 0, len(q.active)
	ready := 0
	for i := range q.prompt {
		n := min(q.prompt[i].left, stepTokens-made-tokens)
		tokens += n
		if q.prompt[i].left -= n; q.prompt[i].left > 0 {
			break
		}
		ready++
	}
	q.free = start + q.scale*(stepTime+promptTime*float64(tokens)+tokenTime*float64(made))
	kept := q.active[:0]
	for _, g := range q.active {
		if g.left--; g.left <= 0 {
			q.emit(g.at, q.free, g.first-g.at)
		} else {
			kept = append(kept, g)
		}
	}
	q.active = kept
	for _, g := range q.prompt[:ready] {
		g.first, g.left = q.free, q.length(responseTokens)-1
		q.active = append(q.active, g)
	}
	q.prompt = q.prompt[ready:]
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

type pending struct{ at, end, metric float64 }

func start(rng *rand.Rand, rate, began, settle float64, idle maker, figures []figure) *run {
	r := &run{rng: rng, rate: rate, figures: figures, from: settle}
	r.reset()
	r.server = idle(rng, began, func(at, end, metric float64) { r.pending = append(r.pending, pending{at, end, metric}) })
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
		if p.end >= r.from {
			ms := 1e3 * p.metric
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
		out[i].Unit, out[i].Count = "ms", n
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
func drive(s *find.Search, rng *rand.Rand, idle maker, figures []figure) (find.Answer, time.Duration) {
	var began float64 // when the current load did
	var r *run
	return play(s, func(step find.Step, fresh bool) find.Observation {
		if step.Do == find.Drain {
			end := r.now
			r.server.advance(r.now + step.Limit.Seconds())
			for _, p := range r.pending {
				end = max(end, p.end)
			}
			if len(r.pending) < r.arrived-r.ended {
				end = math.Inf(1)
			}
			took := min(end-r.now, step.Limit.Seconds())
			began += r.now + took
			r = nil
			return find.Observation{Elapsed: duration(took)}
		}
		if fresh {
			if r != nil { // after a check
				began += r.now
			}
			r = start(rng, step.Load, began, step.Settle.Seconds(), idle, figures)
		}
		o := r.until(step.At.Seconds(), step.At >= step.Look || step.Do == find.Check)
		if step.Do == find.Check {
			r.reset()
		}
		return o
	})
}
