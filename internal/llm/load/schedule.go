package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

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

// curve turns arrivals of one a second into arrivals at a rate that changes: arrival x is due when the rate, summed up
// over time, has reached x. It is a row of stages, the last of which goes on for ever unless it ends.
type curve struct {
	stages []Stage
	unit   func() float64 // the gap to the next arrival at one a second
	at     float64        // the sum of the gaps
	stage  int
	before float64       // arrivals in the stages before
	since  time.Duration // time of the stages before
}

var _ pace.Schedule = (*curve)(nil)

// Forever is the time of a stage that does not end.
const Forever = time.Duration(math.MaxInt64)

// newSchedule makes the schedule of a level.
func newSchedule(lv *Level, o *Shape, seed uint64) pace.Schedule {
	stages := lv.Stages
	if len(stages) == 0 {
		if o.Ramp > 0 {
			stages = append(stages, Stage{From: 0, To: lv.Rate, Time: o.Ramp})
		}
		stages = append(stages, Stage{From: lv.Rate, To: lv.Rate, Time: Forever})
	}
	return &curve{stages: stages, unit: gaps(o, seed)}
}

// gaps draws the gaps of arrivals at one a second.
func gaps(o *Shape, seed uint64) func() float64 {
	rng := rand.New(rand.NewPCG(seed, 0xa117))
	switch o.Arrival {
	case Gamma:
		return func() float64 { return gamma(rng, o.Smoothness) / o.Smoothness }
	case Constant:
		return func() float64 { return 1 }
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

// Next is the time of the next arrival.
func (c *curve) Next() (time.Duration, bool) {
	c.at += c.unit()
	for c.stage < len(c.stages) {
		s := c.stages[c.stage]
		in := c.at - c.before
		t := s.Time.Seconds()
		if s.Time == Forever {
			return c.since + seconds(in/s.From), s.From > 0
		}
		if all := (s.From + s.To) / 2 * t; in > all {
			c.before += all
			c.since += s.Time
			c.stage++
			continue
		}
		// The stage has seen From·x + (To-From)/(2·t)·x² arrivals after x seconds.
		a, b := (s.To-s.From)/(2*t), s.From
		x := in / b
		if math.Abs(a) > 1e-12 {
			x = (-b + math.Sqrt(max(0, b*b+4*a*in))) / (2 * a)
		}
		return c.since + seconds(x), true
	}
	return 0, false
}

func seconds(s float64) time.Duration {
	if s > math.MaxInt64/1e9/2 {
		return Forever / 2
	}
	return time.Duration(s * 1e9)
}

// Length is the time of all stages; 0 where the last has no end.
func Length(stages []Stage) time.Duration {
	var sum time.Duration
	for _, s := range stages {
		if s.Time == Forever {
			return 0
		}
		sum += s.Time
	}
	return sum
}
