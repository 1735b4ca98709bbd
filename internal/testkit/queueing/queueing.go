// Package queueing computes the latency of queues of known law, so that tests know the capacity that a search must find. Arrivals are
// Poisson with a rate per second, times are seconds.
package queueing

import "math"

// Solve finds where a growing function reaches a limit.
func Solve(low, high, limit float64, f func(x float64) float64) float64 {
	for range 50 {
		if mid := (low + high) / 2; f(mid) < limit {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// MeanMG1 is the mean time in the system of a single worker, given the mean of the service time and of its square (Pollaczek and
// Khinchin).
func MeanMG1(rate, mean, square float64) float64 { return mean + rate*square/2/(1-rate*mean) }

// RateMM1 is the rate at which the p-th percentile of the time in the system of M/M/1 is t: that time is exponential.
func RateMM1(mu, p, t float64) float64 { return mu + math.Log1p(-p/100)/t }

// TailMD1 is the probability that a request spends more than t in the system of a single worker with the constant
// service time d (Erlang's formula).
func TailMD1(rate, d, t float64) float64 {
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

// TailMMC is the same for c workers with exponential service times of the rate mu each.
func TailMMC(rate, mu float64, c int, t float64) float64 {
	x := float64(c) - 1 - rate/mu
	return math.Exp(-mu*t) * (1 + waitsMMC(rate, mu, c)*(1-math.Exp(-mu*x*t))/x)
}

// MeanMMC is the mean time in the system of M/M/c.
func MeanMMC(rate, mu float64, c int) float64 {
	return 1/mu + waitsMMC(rate, mu, c)/(float64(c)*mu-rate)
}

// waitsMMC is the probability that a request waits (Erlang's C formula).
func waitsMMC(rate, mu float64, c int) float64 {
	a := rate / mu
	term, sum := 1.0, 0.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	waits := term / (1 - a/float64(c))
	return waits / (sum + waits)
}

// Batches are the batches of one worker: at most Most requests, which take Fixed and Each for every request.
type Batches struct {
	Most        int
	Fixed, Each float64
}

// Mean is the mean time in the system: by the Markov chain of the number of waiting requests at the ends of batches, and
// Little's law.
func (b Batches) Mean(rate float64) float64 {
	const states = 150
	took := func(waiting int) float64 { return b.Fixed + float64(min(max(1, waiting), b.Most))*b.Each }
	arrivals := make([][]float64, b.Most+1) // by batch size
	for n := 1; n <= b.Most; n++ {
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
			n := min(max(1, w), b.Most)
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
