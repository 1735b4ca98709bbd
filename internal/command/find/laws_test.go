//go:build !race

package find

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
	"github.com/redline-bench/redline/internal/testkit/queueing"
)

// queue is a server with some workers, in the order of arrival. Times are those of the simulation.
type queue struct {
	mu      sync.Mutex
	free    []int64
	service func() time.Duration
}

// answer is how long a request takes that arrives now.
func (q *queue) answer(int64) (time.Duration, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, w := clock.Now(), 0
	for i := range q.free {
		if q.free[i] < q.free[w] {
			w = i
		}
	}
	q.free[w] = max(now, q.free[w]) + int64(q.service())
	return time.Duration(q.free[w] - now), nil
}

// law is a queue whose capacity is known.
type law struct {
	name    string
	rule    string
	truth   float64 // requests per second
	workers int
	service func(rng *rand.Rand, began int64) func() time.Duration
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// laws are those of the simulations of internal/find, at 4000 requests per second.
func laws() []law {
	const scale = 0.25e-3 // mean time of a request in seconds, for one worker
	exponential := func(mean float64) func(*rand.Rand, int64) func() time.Duration {
		return func(rng *rand.Rand, _ int64) func() time.Duration {
			return func() time.Duration { return seconds(mean * rng.ExpFloat64()) }
		}
	}
	capacity := func(limit float64, latency func(rate float64) float64) float64 {
		return queueing.Solve(1, 3999.9, limit, latency)
	}
	return []law{
		{"M/M/1", "p90<5ms", queueing.RateMM1(4000, 90, 5e-3), 1, exponential(scale)},
		{"M/D/1", "avg<1.5ms", capacity(1.5e-3, func(rate float64) float64 { return queueing.MeanMG1(rate, scale, scale*scale) }), 1, func(*rand.Rand, int64) func() time.Duration {
			return func() time.Duration { return seconds(scale) }
		}},
		{"bimodal", "avg<2ms", capacity(2e-3, func(rate float64) float64 { return queueing.MeanMG1(rate, scale, 2.44*scale*scale) }), 1, func(rng *rand.Rand, _ int64) func() time.Duration {
			return func() time.Duration {
				if rng.IntN(10) == 0 {
					return seconds(4.6 * scale)
				}
				return seconds(0.6 * scale)
			}
		}},
		{"M/M/4", "avg<2.5ms", capacity(2.5e-3, func(rate float64) float64 { return queueing.MeanMMC(rate, 1/(4*scale), 4) }), 4, exponential(4 * scale)},
		{"slow drift", "p90<5ms", queueing.RateMM1(4000, 90, 5e-3), 1, func(rng *rand.Rand, began int64) func() time.Duration {
			return func() time.Duration {
				return seconds(scale * rng.ExpFloat64() * (1 + 0.06*math.Exp(-float64(clock.Now()-began)/6e9)))
			}
		}},
	}
}

// loads sends rates to a prober.
type loads struct{ *profile.Prober }

func (l loads) Run(ctx context.Context, load float64, drain time.Duration, first measure.Look, watch measure.Watch) error {
	return l.Prober.Run(ctx, result.Level{Mode: plan.RequestRate, Rate: load}, drain, first, watch)
}

// search runs a search with the engine of redline profile, in simulated time. probe is the longest time of a probe.
func (l *law) search(t *testing.T, probe time.Duration) (a find.Answer, took time.Duration) {
	t.Helper()
	rule, err := gate.Parse(l.rule)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Simulate(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		rng := rand.New(rand.NewPCG(0, 7))
		q := &queue{free: make([]int64, l.workers), service: l.service(rng, clock.Now())}
		p := plan.Default()
		p.Load.Mode, p.Load.Distribution = plan.RequestRate, plan.Poisson
		svc := &testkit.Service{Answer: q.answer}
		m, _ := svc.Describe(ctx)
		prober, err := profile.OpenProber(ctx, &profile.Runner{
			Plan: &p, Service: svc, Model: m, Async: true, Source: func(int, int) engine.Source { return testkit.Source{} },
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := find.New(find.Config{
			Tiers: []find.Tier{{Objectives: []gate.Rule{rule}}}, Start: l.truth * math.Exp(rng.Float64()-0.7), Lowest: 1,
			Settle: 200 * time.Millisecond, MinTime: probe / 10, MaxTime: probe, Confirm: 2 * probe,
		})
		if err != nil {
			t.Fatal(err)
		}
		began := clock.Now()
		if err := s.Run(ctx, loads{prober}, nil); err != nil {
			t.Fatal(err)
		}
		a, took = s.Answer(), time.Duration(clock.Now()-began)
		if err := prober.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, took
}

// check runs a search, which must find the capacity within 5 %, in at most two fifths of the time of a sweep by the same resolution.
func (l *law) check(t *testing.T, probe time.Duration) {
	t.Helper()
	a, took := l.search(t, probe)
	c := a.Capacities[0]
	t.Logf("%s: %.1f of %.1f requests/s, %s, confirmed %v, %d probes in %v", l.name, c.Value, l.truth, c.Outcome, c.Confirmed, len(a.Probes), took.Round(time.Second))
	if math.Abs(c.Value/l.truth-1) > 0.05 {
		t.Errorf("%s: the search found %.1f requests/s, the capacity is %.1f", l.name, c.Value, l.truth)
	}
	if sweep := 51 * (probe + 200*time.Millisecond); 5*took > 2*sweep {
		t.Errorf("%s: the search took %v, a sweep takes %v", l.name, took, sweep)
	}
}

// The whole path from the search to the engine finds the capacity of a queue of known law. Package find asserts the error rates
// over many seeds.
func TestFindsTheCapacityOfAKnownQueue(t *testing.T) { laws()[0].check(t, 3*time.Second) }

// So it does with all of them. Their latencies are correlated for longer, so the probes are longer.
func TestFindsTheCapacityOfKnownQueues(t *testing.T) {
	outcome.HeavyOnly(t, "searches on five queues with the engine, some minutes")
	for _, l := range laws() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			l.check(t, 12*time.Second)
		})
	}
}
