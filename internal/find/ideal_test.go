//go:build !race

// Simulations have no threads and are slow under the race detector: `make unit` runs them without it.

package find_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// ideal is a server with the mean latency 1 ms ÷ (1 - load), measured with a normal error of the stated size: what the
// intervals of an endless run come to. A search on it costs so little that error rates can be measured by thousands.
type ideal struct {
	rng   *rand.Rand
	load  float64
	error float64 // of the load, as it follows from one second of measuring
	sum   float64 // of the errors so far: a Brownian motion
	at    float64 // measured seconds so far
}

func (d *ideal) until(measured float64) find.Reading {
	slope := d.load / (1 - d.load) // relative change of the latency for a relative change of the load
	d.sum += d.rng.NormFloat64() * math.Sqrt(measured-d.at)
	d.at = measured
	v := math.Exp(slope*d.error*d.sum/measured) / (1 - d.load)
	width := math.Exp(2.5758 * slope * d.error / math.Sqrt(measured))
	return find.Reading{Value: v, Unit: "ms", Interval: &result.Interval{Low: v / width, High: v * width, Level: find.Level}}
}

// Thousands of searches on servers whose probes tell the load to 0.5 % to 1.5 %.
func TestErrorRatesWithIdealIntervals(t *testing.T) {
	outcome.NotQuick(t)
	runs := 10_000
	if outcome.Heavy() {
		runs = 30_000
	}
	rule := rules(t, "avg<10ms")
	const truth = 0.9
	var near, falseGood, held, confirmed int
	var took, sweep time.Duration
	var mu sync.Mutex
	inParallel(runs, func(i int) {
		seed := uint64(i)
		rng := rand.New(rand.NewPCG(seed, 5))
		conf := find.Config{
			Tiers: []find.Tier{{Objectives: rule}}, Start: truth * math.Exp(2*rng.Float64()-1.2), Lowest: 1e-3,
			Settle: time.Second, MinTime: 4 * time.Second, MaxTime: 40 * time.Second,
		}
		server := func(load float64) *ideal {
			return &ideal{rng: rng, load: load, error: (0.005 + 0.001*float64(seed%11)) * math.Sqrt(conf.MaxTime.Seconds())}
		}
		var d *ideal
		s := newSearch(t, conf)
		a, time := play(s, func(step find.Step, fresh bool) find.Observation {
			if fresh {
				d = server(step.Load)
			}
			o := find.Observation{Elapsed: step.At, Requests: 1000}
			switch {
			case step.Do == find.Drain:
			case step.Load >= 1:
				o.Backlog = int(1000 * step.At.Seconds())
			case step.At >= step.Look || step.Do == find.Check:
				o.Readings = []find.Reading{d.until(max(1, (step.At - conf.Settle).Seconds()))}
			}
			return o
		})
		c := a.Capacities[0]
		if c.Interval.Low > c.Value || !c.Interval.Open && c.Interval.High <= c.Value {
			t.Errorf("seed %d: the interval leaves the value out: %+v", seed, c)
		}
		fails := !rule[0].Holds(server(c.Value).until(10 * conf.MaxTime.Seconds()).Value)
		mu.Lock()
		defer mu.Unlock()
		took += time
		sweep += 51 * (conf.Settle + conf.MaxTime)
		near += count(math.Abs(c.Value/truth-1) <= 0.05)
		held += count(c.Interval.Low <= truth && (c.Interval.Open || truth <= c.Interval.High))
		confirmed += count(c.Confirmed)
		falseGood += count(fails)
	})
	t.Logf("of %d: near %d, false good %d, interval holds %d, confirmed %d, time %.0f %% of a sweep", runs, near, falseGood, held, confirmed, 100*took.Seconds()/sweep.Seconds())
	if min(near, held, confirmed) < runs*95/100 || falseGood > runs*5/100 || 3*took > sweep {
		t.Error("the error rates are too high")
	}
}
