//go:build !race

// Simulations have no threads and are slow under the race detector: `make unit` runs them without it.

package find_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/stats"
	"github.com/redline-bench/redline/internal/testkit/outcome"
	"github.com/redline-bench/redline/internal/testkit/queueing"
)

// law is a kind of server whose capacity is computed.
type law struct {
	name   string
	rule   string
	figure figure
	truth  func(at float64) float64 // capacity at a time of the search
	make   maker
	single float64
	// generates: the law is that of a language model, and the first guess comes from a single request
	generates bool
}

func fixed(v float64) func(float64) float64 { return func(float64) float64 { return v } }

func laws() []law {
	single := func(service func(rng *rand.Rand, now float64) float64) maker {
		return func(rng *rand.Rand, began float64, emit emitter) server {
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
	drifted := func(share float64) func(float64) float64 {
		return func(at float64) float64 { return queueing.RateMM1(1000/(1+share*math.Exp(-at/60)), 90, 20e-3) }
	}
	return []law{
		{
			name: "M/D/1", rule: "p99<15ms", figure: figure{p: 99}, single: 1e-3,
			truth: fixed(queueing.Solve(500, 990, 0.01, func(rate float64) float64 { return queueing.TailMD1(rate, 1e-3, 15e-3) })),
			make:  single(func(*rand.Rand, float64) float64 { return 1e-3 }),
		},
		{
			name: "M/M/4", rule: "p95<24ms", figure: figure{p: 95}, single: 4e-3,
			truth: fixed(queueing.Solve(100, 999, 0.05, func(rate float64) float64 { return queueing.TailMMC(rate, 250, 4, 24e-3) })),
			make: func(rng *rand.Rand, _ float64, emit emitter) server {
				return &fifo{free: make([]float64, 4), emit: emit, service: func(float64) float64 { return rng.ExpFloat64() * 4e-3 }}
			},
		},
		{
			name: "batches", rule: "avg<20ms", figure: figure{}, single: 4.5e-3,
			truth: fixed(queueing.Solve(1200, 1290, 20e-3, queueing.Batches{Most: batches.most, Fixed: batches.fixed, Each: batches.each}.Mean)),
			make: func(_ *rand.Rand, _ float64, emit emitter) server {
				q := batches
				q.emit = emit
				return &q
			},
		},
		{
			name: "bimodal", rule: "avg<8ms", figure: figure{}, single: 1e-3,
			truth: fixed(queueing.Solve(100, 990, 8e-3, func(rate float64) float64 { return queueing.MeanMG1(rate, 1e-3, 2.44e-6) })),
			make: single(func(rng *rand.Rand, _ float64) float64 {
				if rng.IntN(10) == 0 {
					return 4.6e-3
				}
				return 0.6e-3
			}),
		},
		{name: "warming up", rule: "p90<20ms", figure: figure{p: 90}, truth: drifted(0.06), make: drift(0.06), single: 1e-3},
		{name: "slowing down", rule: "p90<20ms", figure: figure{p: 90}, truth: drifted(-0.06), make: drift(-0.06), single: 1e-3},
	}
}

const generatorCapacity = 24.53

func generatorLaw(capacity float64) law {
	scale := generatorCapacity / capacity
	return law{
		name: fmt.Sprintf("prefill and decode, %g/s", capacity), rule: fmt.Sprintf("ttft.p95<%gms", 100*scale), figure: figure{p: 95}, truth: fixed(capacity), single: 0.65 * scale, generates: true,
		make: func(rng *rand.Rand, _ float64, emit emitter) server {
			return &generator{rng: rng, scale: scale, emit: emit}
		},
	}
}

// score is how well the searches on one law did.
type score struct {
	searches, missed, empty, late int
	widths                        []float64 // half of the interval, relative to its middle
}

// search runs one search from a wrong first guess.
func (l *law) search(t *testing.T, seed int, budget time.Duration, sc *score, mu *sync.Mutex) {
	rng := rand.New(rand.NewPCG(uint64(seed), 21))
	conf := find.Config{Tiers: []find.Tier{{Objectives: rules(t, l.rule)}}, Lowest: 0.01, Budget: budget, Confirm: time.Minute}
	conf.Times(duration(l.single))
	if l.generates {
		conf.Start = 2 / l.single * math.Exp(0.6*rng.Float64()-0.3)
	} else {
		conf.Start = l.truth(0) * math.Exp(2*rng.Float64()-1.2)
	}
	a, took := drive(newSearch(t, conf), rng, l.make, []figure{l.figure})
	c := a.Capacities[0]
	truth, iv := l.truth(took.Seconds()), c.Interval
	width := math.Inf(1)
	if !iv.Open {
		width = (iv.High - iv.Low) / (iv.High + iv.Low)
	}
	mu.Lock()
	defer mu.Unlock()
	sc.searches++
	sc.empty += count(c.Value == 0)
	sc.late += count(took > budget+5*time.Second)
	sc.missed += count(truth < iv.Low || !iv.Open && truth > iv.High)
	sc.widths = append(sc.widths, width)
}

// searches checks how the searches on each law did.
func searches(t *testing.T, list []law, seeds int, budget time.Duration) {
	for i := range list {
		l := &list[i]
		var sc score
		var mu sync.Mutex
		inParallel(seeds, func(seed int) { l.search(t, seed, budget, &sc, &mu) })
		slices.Sort(sc.widths)
		median := sc.widths[len(sc.widths)/2]
		t.Logf("%v, %s: %d of %d intervals miss the capacity, half of them are narrower than ±%.1f %%", budget, l.name, sc.missed, sc.searches, 100*median)
		if sc.empty+sc.late > 0 {
			t.Errorf("%v, %s: %d searches have no answer, %d end late", budget, l.name, sc.empty, sc.late)
		}
		if budget >= 300*time.Second && median > l.widest() {
			t.Errorf("%v, %s: half of the intervals are wider than ±%.1f %%", budget, l.name, 100*median)
		}
		if p := stats.BinomialTail(float64(sc.missed), float64(sc.searches), l.missable(budget)); p < 0.001 {
			t.Errorf("%v, %s: %d of %d intervals miss the capacity", budget, l.name, sc.missed, sc.searches)
		}
	}
}

// widest is the widest median of the intervals after 300 s. At low rates so few requests end that arrivals alone differ by more than 10 %.
func (l *law) widest() float64 {
	switch rate := l.truth(0); {
	case rate < 6:
		return 0.7
	case rate < 18:
		return 0.2
	}
	return 0.1
}

// missable is the share of the intervals of 95 % that may miss the capacity. Of a few hundred requests little is known.
func (l *law) missable(budget time.Duration) float64 {
	if l.truth(0)*budget.Seconds() < 500 {
		return 0.12
	}
	return 0.07
}

// Every search ends within its budget with an answer, and for each law and budget the interval holds the capacity.
func TestAnswersWithinTheBudget(t *testing.T) {
	outcome.NotQuick(t)
	budgets(t, 20)
}

func TestAnswersWithinTheBudgetOften(t *testing.T) {
	outcome.HeavyOnly(t, "1000 searches on each law with each budget, half an hour")
	budgets(t, 1000)
}

func budgets(t *testing.T, seeds int) {
	list := laws()
	for _, capacity := range []float64{2, 6, 18, 50} {
		list = append(list, generatorLaw(capacity))
	}
	for _, budget := range []time.Duration{60 * time.Second, 90 * time.Second, 300 * time.Second} {
		searches(t, list, seeds, budget)
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
