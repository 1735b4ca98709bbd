//go:build !race

// Simulations have no threads and are slow under the race detector: `make unit` runs them without it.

package load

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/law"
)

// The gaps of every kind of arrival follow the distribution that its name promises, at any rate and with any seed.
func TestArrivalsFollowTheirLaw(t *testing.T) {
	const n = 20_000
	draw := func(o Shape, rate float64, seed uint64) []float64 {
		got := times(newSchedule(&Level{Mode: plan.RequestRate, Rate: rate}, &o, seed), n)
		for i := len(got) - 1; i > 0; i-- {
			got[i] -= got[i-1]
		}
		for i := range got {
			got[i] *= rate
		}
		return got
	}
	square := func(cdf func(float64) float64) func(float64) float64 { // of the square of a variable
		return func(x float64) float64 { return cdf(math.Sqrt(x)) }
	}
	f := func(name string, o Shape, cdf func(float64) float64) {
		t.Run(name, func(t *testing.T) {
			testkit.Rounds(t, 5, func(t *testing.T, rng *rand.Rand) {
				rate, seed := math.Exp(rng.Float64()*8), rng.Uint64()
				x := draw(o, rate, seed)
				law.Fits(t, "gaps", x, cdf)
				law.Independent(t, "gaps", x)
				if c := law.Correlation(x, draw(o, rate, seed+1)); math.Abs(c) > law.Near(n) {
					t.Errorf("the schedules of two seeds have a correlation of %g", c)
				}
			})
		})
	}
	f("poisson", Shape{Arrival: Poisson}, law.Exponential)
	f("gamma of shape 1", Shape{Arrival: Gamma, Smoothness: 1}, law.Exponential)
	f("gamma of shape 3", Shape{Arrival: Gamma, Smoothness: 3}, law.Erlang(3))
	f("gamma of shape 10", Shape{Arrival: Gamma, Smoothness: 10}, law.Erlang(10))
	// A gamma variable of shape 1/2 and mean one is the square of a standard normal one.
	f("gamma of shape 0.5", Shape{Arrival: Gamma, Smoothness: 0.5}, square(func(z float64) float64 { return math.Erf(z / math.Sqrt2) }))
}

// Arrivals over a ramp or over stages are a Poisson process whose rate changes: through the rate summed up over time,
// they become arrivals of one a second. Their number over all stages is that of the areas, give or take its root.
func TestChangingRatesFollowTheirLaw(t *testing.T) {
	testkit.Rounds(t, 10, func(t *testing.T, rng *rand.Rand) {
		lv := Level{Mode: plan.RequestRate}
		area := 0.0
		for range 1 + rng.IntN(4) {
			s := pace.Stage{From: 2000 * rng.Float64(), To: 2000 * rng.Float64(), Time: time.Duration(1+rng.IntN(4)) * time.Second}
			if rng.IntN(3) == 0 {
				s.To = s.From
			}
			lv.Stages = append(lv.Stages, s)
			area += (s.From + s.To) / 2 * s.Time.Seconds()
		}
		got := times(newSchedule(&lv, &Shape{Arrival: Poisson}, rng.Uint64()), math.MaxInt32)
		if d := math.Abs(float64(len(got)) - area); d > law.Deviations*math.Sqrt(area) {
			t.Errorf("%d arrivals, want about %g", len(got), area)
		}
		places := make([]float64, len(got)) // those of a Poisson process are uniform, given their number
		for i, at := range got {
			places[i] = arrivals(lv.Stages, at) / area
		}
		law.Fits(t, "arrivals", places, law.Uniform)
		var gaps []float64
		for i := 1; i < len(places); i++ {
			gaps = append(gaps, (places[i]-places[i-1])*area)
		}
		law.Fits(t, "gaps", gaps, law.Exponential)
	})
}

// arrivals is the number of arrivals that stages ask for in the first so many seconds.
func arrivals(stages []pace.Stage, at float64) (sum float64) {
	for _, s := range stages {
		t := s.Time.Seconds()
		x := min(at, t)
		sum += s.From*x + (s.To-s.From)/(2*t)*x*x
		if at -= x; at <= 0 {
			return sum
		}
	}
	return sum
}
