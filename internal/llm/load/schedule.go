package load

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/redline-bench/redline/internal/pace"
)

// Arrival is how requests are spread over time.
type Arrival string

// The arrivals.
const (
	Constant Arrival = "constant"
	Poisson  Arrival = "poisson"
	Gamma    Arrival = "gamma"
)

// ParseArrival finds an arrival by name.
func ParseArrival(name string) (Arrival, error) {
	switch a := Arrival(name); a {
	case Constant, Poisson, Gamma:
		return a, nil
	}
	return "", fmt.Errorf("is constant, poisson or gamma, not %q", name)
}

// newSchedule makes the schedule of a level.
func newSchedule(lv *Level, o *Shape, seed uint64) pace.Schedule {
	stages := lv.Stages
	if len(stages) == 0 {
		if o.Ramp > 0 {
			stages = append(stages, pace.Stage{From: 0, To: lv.Rate, Time: o.Ramp})
		}
		stages = append(stages, pace.Stage{From: lv.Rate, To: lv.Rate, Time: pace.Forever})
	}
	return pace.Stages(stages, gaps(o, seed))
}

// gaps draws the gaps of arrivals at one a second; nil where they are even.
func gaps(o *Shape, seed uint64) func() float64 {
	rng := rand.New(rand.NewPCG(seed, 0xa117))
	switch o.Arrival {
	case Gamma:
		return func() float64 { return gamma(rng, o.Smoothness) / o.Smoothness }
	case Constant:
		return nil
	case Poisson:
	}
	return rng.ExpFloat64
}

// gamma draws from the gamma distribution with the given shape and a scale of one, by Marsaglia and Tsang's method.
func gamma(rng *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return gamma(rng, shape+1) * math.Pow(rng.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rng.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
