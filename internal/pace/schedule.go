// Package pace says when to send. A Schedule yields the due time of each request as an offset from the start
// of the level. It knows no clock and does no I/O, so a schedule is tested as a table of numbers, and the
// engine can tell how late it was: due n = start + offset(n), never "the last one plus an interval".
package pace

import (
	"math"
	"math/rand/v2"
	"time"
)

// Schedule yields offsets in ascending order. ok is false when there are no more.
type Schedule interface {
	Next() (offset time.Duration, ok bool)
}

// constant sends request n at (n+1)/rate. The offset is computed from n, so rounding never adds up.
type constant struct {
	rate float64
	n    float64
}

// Constant spaces requests evenly at rate per second. The first is due after one interval.
func Constant(rate float64) Schedule { return &constant{rate: rate} }

func (c *constant) Next() (time.Duration, bool) {
	c.n++
	return time.Duration(c.n / c.rate * float64(time.Second)), true
}

func (c *constant) skip(n int) bool {
	c.n += float64(n)
	return true
}

// poisson draws independent gaps X with P(X > x) = exp(-rate·x): arrivals that know nothing of each other.
type poisson struct {
	rng  *rand.Rand
	mean float64 // nanoseconds
	at   float64
}

// Poisson draws exponential gaps with mean 1/rate. The same seed gives the same schedule.
func Poisson(rate float64, seed uint64) Schedule {
	return &poisson{rng: rand.New(rand.NewPCG(seed, 0)), mean: float64(time.Second) / rate}
}

func (p *poisson) Next() (time.Duration, bool) {
	p.at += p.rng.ExpFloat64() * p.mean
	if p.at > math.MaxInt64 {
		return 0, false
	}
	return time.Duration(p.at), true
}

// intervals replays a list of gaps over and over.
type intervals struct {
	gaps []time.Duration
	i    int
	at   time.Duration
}

// Intervals waits gaps[0] before the first request, gaps[1] before the second, and starts over at the end.
func Intervals(gaps []time.Duration) Schedule { return &intervals{gaps: gaps} }

func (s *intervals) Next() (time.Duration, bool) {
	if len(s.gaps) == 0 {
		return 0, false
	}
	s.at += s.gaps[s.i]
	s.i = (s.i + 1) % len(s.gaps)
	return s.at, true
}

// fixed replays given times.
type fixed struct{ times []time.Duration }

// Fixed sends one request at each of the times, which must be in ascending order, and then no more.
func Fixed(times []time.Duration) Schedule { return &fixed{times} }

func (f *fixed) Next() (time.Duration, bool) {
	if len(f.times) == 0 {
		return 0, false
	}
	at := f.times[0]
	f.times = f.times[1:]
	return at, true
}

// MeanRate is the rate that a list of gaps asks for, in whole requests per second:
// n·1e9 divided by the sum of the gaps in nanoseconds, rounded down.
func MeanRate(gaps []time.Duration) int64 {
	total := sum(gaps)
	if total <= 0 {
		return 0
	}
	return int64(len(gaps)) * int64(time.Second) / int64(total)
}

// Due is how many requests of a new schedule are due after from and not after to. Beyond five million it estimates the rest
// from the rate of those it counted.
func Due(s Schedule, from, to time.Duration) float64 {
	const most = 5_000_000
	count := 0
	for n := range most {
		at, ok := s.Next()
		if !ok || at > to {
			return float64(count)
		}
		if at > from {
			count++
		}
		if n == most-1 && at > 0 {
			return float64(count) + most/at.Seconds()*(to-max(at, from)).Seconds()
		}
	}
	return float64(count)
}
