//go:build !race

// Simulations have no threads and are slow under the race detector: `make unit` runs them without it.

package find_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/testkit/outcome"
	"github.com/redline-bench/redline/internal/testkit/queueing"
)

// law is a kind of server whose capacity is computed.
type law struct {
	name   string
	rule   string
	figure figure
	truth  float64
	make   maker
}

func laws() []law {
	single := func(service func(rng *rand.Rand, now float64) float64) maker {
		return func(rng *rand.Rand, began float64, emit func(at, end float64)) server {
			return &fifo{free: make([]float64, 1), emit: emit, service: func(start float64) float64 { return service(rng, began+start) }}
		}
	}
	batches := batcher{most: 16, fixed: 4e-3, each: 0.5e-3}
	// The service time of a drifting server ends at 1 ms.
	drift := func(share float64) maker {
		return single(func(rng *rand.Rand, now float64) float64 {
			return rng.ExpFloat64() * 1e-3 * (1 + share*math.Exp(-now/60))
		})
	}
	exponential := queueing.RateMM1(1000, 90, 20e-3)
	return []law{
		{
			name: "M/D/1", rule: "p99<15ms", figure: figure{99},
			truth: queueing.Solve(500, 990, 0.01, func(rate float64) float64 { return queueing.TailMD1(rate, 1e-3, 15e-3) }),
			make:  single(func(*rand.Rand, float64) float64 { return 1e-3 }),
		},
		{
			name: "M/M/4", rule: "p95<24ms", figure: figure{95},
			truth: queueing.Solve(100, 999, 0.05, func(rate float64) float64 { return queueing.TailMMC(rate, 250, 4, 24e-3) }),
			make: func(rng *rand.Rand, _ float64, emit func(at, end float64)) server {
				return &fifo{free: make([]float64, 4), emit: emit, service: func(float64) float64 { return rng.ExpFloat64() * 4e-3 }}
			},
		},
		{
			name: "batches", rule: "avg<20ms", figure: figure{},
			truth: queueing.Solve(1200, 1290, 20e-3, queueing.Batches{Most: batches.most, Fixed: batches.fixed, Each: batches.each}.Mean),
			make: func(_ *rand.Rand, _ float64, emit func(at, end float64)) server {
				q := batches
				q.emit = emit
				return &q
			},
		},
		{
			name: "bimodal", rule: "avg<8ms", figure: figure{},
			truth: queueing.Solve(100, 990, 8e-3, func(rate float64) float64 { return queueing.MeanMG1(rate, 1e-3, 2.44e-6) }),
			make: single(func(rng *rand.Rand, _ float64) float64 {
				if rng.IntN(10) == 0 {
					return 4.6e-3
				}
				return 0.6e-3
			}),
		},
		{name: "warming up", rule: "p90<20ms", figure: figure{90}, truth: exponential, make: drift(0.06)},
		{name: "slowing down", rule: "p90<20ms", figure: figure{90}, truth: exponential, make: drift(-0.06)},
	}
}

// score is how well the searches on one law did.
type score struct {
	runs, found, near, falseGood, held, confirmed int
	probes                                        int
	off, worst                                    float64 // sum of the relative errors, and the largest
	took, sweep                                   time.Duration
}

// trial runs one search from a wrong first guess.
func (l *law) trial(t *testing.T, seed uint64, longest, confirm time.Duration) score {
	rng := rand.New(rand.NewPCG(seed, 21))
	conf := find.Config{
		Tiers: []find.Tier{{Objectives: rules(t, l.rule)}}, Start: l.truth * math.Exp(2*rng.Float64()-1.2), Lowest: 1,
		Settle: 2 * time.Second, MinTime: 3 * time.Second, MaxTime: longest, Confirm: confirm, Resolution: 0.02,
	}
	a, took := drive(newSearch(t, conf), conf, rng, l.make, []figure{l.figure})
	c := a.Capacities[0]
	// A sweep by the same resolution up to the first load that fails needs the full time for each load.
	sweep := time.Duration(1+1/conf.Resolution) * (conf.Settle + conf.MaxTime)
	off := c.Value/l.truth - 1
	return score{
		runs: 1, probes: len(a.Probes), took: took, sweep: sweep, off: off, worst: math.Abs(off), confirmed: count(c.Confirmed),
		found: count(c.Outcome == find.Found), near: count(math.Abs(off) <= 0.05), falseGood: count(l.failsLongCheck(rng, c.Value, took, conf)),
		held: count(c.Interval.Low <= l.truth && (c.Interval.Open || l.truth <= c.Interval.High)),
	}
}

// failsLongCheck runs the answer for ten times the time of a probe. Answers far below the capacity need no check.
func (l *law) failsLongCheck(rng *rand.Rand, load float64, began time.Duration, conf find.Config) bool {
	if load < 0.98*l.truth {
		return false
	}
	r := start(rng, load, began.Seconds(), conf.Settle.Seconds(), l.make, []figure{l.figure})
	o := r.until((conf.Settle + 10*conf.MaxTime).Seconds(), true)
	rule, _ := gate.Parse(l.rule)
	return !rule.Holds(o.Readings[0].Value)
}

func (s *score) add(o score) {
	s.runs += o.runs
	s.found += o.found
	s.near += o.near
	s.falseGood += o.falseGood
	s.held += o.held
	s.confirmed += o.confirmed
	s.off += o.off
	s.probes += o.probes
	s.worst = max(s.worst, o.worst)
	s.took += o.took
	s.sweep += o.sweep
}

// Searches on exactly simulated queues in virtual time, with the times and the intervals of real runs. On every law they are within 5 % of
// the truth in 19 of 20 seeds, at most one in 20 answers fails a check that is ten times longer, and they take at most a third of the
// time of a sweep.
func TestSearchesOnKnownLaws(t *testing.T) {
	outcome.NotQuick(t)
	seeds := 20
	if outcome.Heavy() {
		seeds = 100
	}
	list := laws()
	scores := make([]score, len(list))
	var mu sync.Mutex
	inParallel(seeds*len(list), func(n int) {
		i := n % len(list)
		s := list[i].trial(t, uint64(n/len(list)), 30*time.Second, time.Minute) // the defaults of redline find
		mu.Lock()
		defer mu.Unlock()
		scores[i].add(s)
	})
	var total score
	for i, s := range scores {
		total.add(s)
		t.Logf("%-12s %s below %.0f/s: %d searches, %d confirmed, %d near, %d false, %d intervals hold, mean error %.1f %%, worst %.1f %%, %.1f probes, %.0f %% of the time of a sweep",
			list[i].name, list[i].rule, list[i].truth, s.runs, s.confirmed, s.near, s.falseGood, s.held, 100*s.off/float64(s.runs), 100*s.worst,
			float64(s.probes)/float64(s.runs), 100*s.took.Seconds()/s.sweep.Seconds())
		if s.tooHigh() {
			t.Errorf("%s: the error rates or the time are too high", list[i].name)
		}
	}
	t.Logf("all laws: %d searches, %d near, %d false, %d intervals hold", total.runs, total.near, total.falseGood, total.held)
	if 20*(total.runs-total.held) > total.runs {
		t.Error("too many intervals leave the truth out")
	}
}

// inParallel calls work for 0 to n-1, on all cores.
func inParallel(n int, work func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	all.Wait()
}

// tooHigh tells whether more than one in 20 searches is wrong, or the searches took more than a third of the time of sweeps.
func (s *score) tooHigh() bool {
	return 20*max(s.runs-s.found, s.runs-s.near, s.falseGood) > s.runs || 3*s.took > s.sweep
}

// Probes that are too short for the noise of a server still lead to an answer, within the bounds that the search has for repeated probes.
func TestShortProbesLeadToAnAnswer(t *testing.T) {
	outcome.NotQuick(t)
	bimodal := laws()[3]
	for seed := range uint64(20) {
		if s := bimodal.trial(t, seed, 20*time.Second, 20*time.Second); s.found != 1 || s.worst > 0.1 {
			t.Errorf("seed %d: found %d, off by %.1f %%, %d probes", seed, s.found, 100*s.worst, s.probes)
		}
	}
}
