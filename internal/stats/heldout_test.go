//go:build !race

// Simulations have no threads and are slow under the race detector: `make unit` runs them without it.

package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"
)

// heldOut is traffic of shapes that had no part in the choice of the method's constants: those were chosen with traffics.
func heldOut() []traffic {
	const phi, most = 0.6, 16
	var gamma, ar, batches, modulated, cycles [4]float64
	for i, z := range normals {
		ar[i] = 10 + z
		batches[i] = 10 + z*math.Sqrt(1.25)
		share := 1 - covered[i]/100
		// A Gamma time of shape 1/2 is the square of a normal one.
		gamma[i] = solve(func(x float64) bool { return math.Erfc(math.Sqrt(x/2)) > share })
		modulated[i] = solve(func(x float64) bool { return 0.8*math.Exp(-x)+0.2*math.Exp(-x/10) > share })
		cycles[i] = solve(func(x float64) bool { return cycleAbove(x) > share })
	}
	return []traffic{
		alone("Gamma 1/2", 1, gamma, func(r *rand.Rand) float64 { v := r.NormFloat64(); return v * v }),
		{name: "AR(0.6)", inFlight: 1, independent: (1 + phi) / (1 - phi), mean: 10, rate: 0.1, percentiles: ar, draw: autoregression(phi)},
		// A server that is ten times slower in a fifth of the time, for 25 requests on average: a run of 1,000 requests meets
		// this state eight times, which is too few.
		{name: "two states", inFlight: 1, independent: 15.6, fewest: 5000, mean: 2.8, rate: 1 / 2.8, percentiles: modulated, draw: func(r *rand.Rand, n int, emit func(latency, gap float64)) {
			slow := r.Float64() < 0.2
			for range n {
				v := r.ExpFloat64()
				if slow {
					v *= 10
				}
				emit(v, v)
				slow = slow && r.Float64() >= 0.04 || !slow && r.Float64() < 0.01
			}
		}},
		// All requests of a batch, 1 to 16, share what the batch took.
		{name: "batches of 1 to 16", inFlight: 9, independent: 9, mean: 10, rate: 0.85, percentiles: batches, draw: func(r *rand.Rand, n int, emit func(latency, gap float64)) {
			left, shared := 0, 0.0
			for range n {
				gap := 0.0
				if left == 0 {
					left, shared = 1+r.IntN(most), 10+r.NormFloat64()
					gap = shared
				}
				left--
				emit(shared+0.5*r.NormFloat64(), gap)
			}
		}},
		// The time in an M/G/1 queue with lognormal service times of mean 1 and deviation 1; a mean of 2.9 in flight.
		{name: "M/G/1 at 0.7", inFlight: 3, independent: 57, mean: 1 + 0.7*math.E/0.6, rate: 0.7, percentiles: sojourn(0.7), draw: func(r *rand.Rand, n int, emit func(latency, gap float64)) {
			const settle = 1000 // the queue is empty at first
			v := 0.0
			for i := range settle + n {
				gap := r.ExpFloat64() / 0.7
				next := max(0, v-gap) + math.Exp(r.NormFloat64()-0.5)
				if i >= settle {
					emit(next, gap+next-v)
				}
				v = next
			}
		}},
		{name: "30 cycles", inFlight: 1, independent: 1, mean: 10, rate: 0.1, percentiles: cycles, wide: true, draw: cyclic(30)},
		// What changes slower than the run lasts: no interval can be right. 50 requests do not show it.
		{name: "half a cycle", inFlight: 1, independent: math.Inf(1), fewest: 200, mean: 10, rate: 0.1, percentiles: cycles, draw: cyclic(0.5)},
	}
}

// solve finds where above stops to hold, between 0 and 1,000.
func solve(above func(x float64) bool) float64 {
	low, high := 0.0, 1000.0
	for range 60 {
		if mid := (low + high) / 2; above(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// cyclic is latencies of 10 ± 1 with a mean that moves by ± 3, so many times in a run, from a random start.
func cyclic(times float64) func(r *rand.Rand, n int, emit func(latency, gap float64)) {
	return func(r *rand.Rand, n int, emit func(latency, gap float64)) {
		start := r.Float64()
		for i := range n {
			v := 10 + 3*math.Sin(2*math.Pi*(start+times*float64(i)/float64(n))) + r.NormFloat64()
			emit(v, v)
		}
	}
}

// cycleAbove is the share of latencies of whole cycles above x.
func cycleAbove(x float64) (share float64) {
	const steps = 1000
	for i := range steps {
		share += normalAbove(x-10-3*math.Sin(2*math.Pi*float64(i)/steps)) / steps
	}
	return share
}

func normalAbove(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// sojourn gives the percentiles of the time in an M/G/1 queue with lognormal service times S of mean 1 and deviation 1. The
// wait is a sum of residual service times R, of which there are n with probability (1-load)·loadⁿ (Pollaczek and Khinchine).
// Its distribution on a grid follows by Panjer's recursion.
func sojourn(load float64) (out [4]float64) {
	const step, points = 0.01, 5000
	service := func(x float64) float64 { return 1 - normalAbove(math.Log(x)+0.5) }                                   // P(S ≤ x)
	residual := func(x float64) float64 { return 1 - normalAbove(math.Log(x)-0.5) + x*normalAbove(math.Log(x)+0.5) } // ∫(1-P(S ≤ u))du to x
	grid := func(below func(x float64) float64) []float64 {
		mass, before := make([]float64, points), 0.0
		for i := range mass {
			now := below((float64(i) + 0.5) * step)
			mass[i], before = now-before, now
		}
		return mass
	}
	s, r := grid(service), grid(residual)
	wait := make([]float64, points)
	wait[0] = (1 - load) / (1 - load*r[0])
	for k := 1; k < points; k++ {
		for j := 1; j <= k; j++ {
			wait[k] += load / (1 - load*r[0]) * r[j] * wait[k-j]
		}
	}
	i, below := 0, 0.0
	for k := range points {
		here := 0.0
		for j := range k + 1 {
			here += s[j] * wait[k-j]
		}
		for ; i < len(covered) && below+here >= covered[i]/100; i++ {
			out[i] = (float64(k) - 0.5 + (covered[i]/100-below)/here) * step
		}
		below += here
	}
	return out
}

// The intervals hold what they say over traffic that the method was not fitted to.
func TestCoverageHeldOut(t *testing.T) { coverTable(t, heldOut()) }

// The percentiles of the M/G/1 queue that the recursion gives are those of a long run.
func TestSojournAgreesWithARun(t *testing.T) {
	queue := heldOut()[4]
	const n = 1_000_000
	var above [4]int
	sum := 0.0
	queue.draw(rand.New(rand.NewPCG(7, 7)), n, func(latency, _ float64) {
		sum += latency
		for i, p := range queue.percentiles {
			if latency > p {
				above[i]++
			}
		}
	})
	if math.Abs(sum/n/queue.mean-1) > 0.05 {
		t.Errorf("mean %.4f, want %.4f", sum/n, queue.mean)
	}
	for i, got := range above {
		if want := 1 - covered[i]/100; math.Abs(float64(got)/n/want-1) > 0.1 {
			t.Errorf("%.5f of the requests are above p%g = %.3f", float64(got)/n, covered[i], queue.percentiles[i])
		}
	}
}
