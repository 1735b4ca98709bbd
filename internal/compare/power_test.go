package compare_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// shape draws one latency in nanoseconds, with a mean of about 2 ms.
type shape func(rng *rand.Rand) float64

// The distributions that servers really have: a long tail; two paths, as with a cache; rare stalls a hundred times
// the median.
var shapes = map[string]shape{
	"lognormal": func(rng *rand.Rand) float64 { return 1.8e6 * math.Exp(0.5*rng.NormFloat64()) },
	"two paths": func(rng *rand.Rand) float64 {
		base := 0.8e6
		if rng.Float64() < 0.3 {
			base = 4.5e6
		}
		return base * math.Exp(0.2*rng.NormFloat64())
	},
	"rare stalls": func(rng *rand.Rand) float64 {
		v := 1.7e6 * math.Exp(0.3*rng.NormFloat64())
		if rng.Float64() < 0.001 {
			v += 50e6 * math.Pow(1-rng.Float64(), -1/2.5) // Pareto
		}
		return v
	},
}

const (
	inFlight = 8
	slices   = 150 // of 100 ms: the default run of three windows of 5 s
)

// library is a long closed-loop run, request by request, cut into slices that runs are put together from.
func library(rng *rand.Rand, draw shape) []result.Slice {
	const seconds = 120
	tl := measure.NewTimeline(measure.Setup{}, 0)
	var out []result.Slice
	slots := [inFlight]float64{}
	start := 0.0
	for start < seconds*1e9 {
		if start-float64(len(out))*1e8 >= 20e9 { // before the timeline makes its slices longer
			out, tl = append(out, whole(tl)...), measure.NewTimeline(measure.Setup{}, int64(start))
		}
		next := 0
		for i := range slots {
			if slots[i] < slots[next] {
				next = i
			}
		}
		sent := slots[next]
		slots[next] += draw(rng)
		start = sent
		tl.Add(&record.Record{Due: int64(sent), Sent: int64(sent), First: int64(slots[next]), End: int64(slots[next]), Responses: 1})
	}
	return append(out, whole(tl)...)
}

func whole(tl *measure.Timeline) []result.Slice {
	r := tl.Result(math.MaxInt64)
	return r.Slices[1 : len(r.Slices)-2]
}

// simulate makes a run whose latencies are scaled by factor. Within the run they drift slowly by about 1 %, and runs
// differ among each other by half a per cent.
func simulate(rng *rand.Rand, lib []result.Slice, factor float64) *result.Result {
	const between, within, memory = 0.005, 0.01, 0.95
	factor *= math.Exp(between * rng.NormFloat64())
	wave := within * rng.NormFloat64()
	lv := result.Level{Mode: plan.Concurrency, Concurrency: inFlight, Timeline: &result.Timeline{StepNs: 1e8}}
	var sum, p50, p90, p99 float64
	for range slices + 1 {
		wave = memory*wave + within*math.Sqrt(1-memory*memory)*rng.NormFloat64()
		f := factor * math.Exp(wave)
		s := lib[rng.IntN(len(lib))]
		s.Ended = uint64(math.Round(float64(s.Ended) / f))
		scale := func(ns *int64) { *ns = int64(float64(*ns) * f) }
		scale(&s.AvgNs)
		scale(&s.P50Ns)
		scale(&s.P90Ns)
		scale(&s.P99Ns)
		lv.Timeline.Slices = append(lv.Timeline.Slices, s)
		lv.Client.Requests += s.Ended
		sum += float64(s.AvgNs) * float64(s.Ended)
		p50, p90, p99 = p50+float64(s.P50Ns), p90+float64(s.P90Ns), p99+float64(s.P99Ns)
	}
	n := float64(slices + 1)
	lv.Client.InferPerSec = float64(lv.Client.Requests) / (n * 0.1)
	lv.Client.Latency = result.Latency{
		Count: lv.Client.Requests, Avg: int64(sum / float64(lv.Client.Requests)),
		Percentiles: []result.Percentile{{P: 50, Ns: int64(p50 / n)}, {P: 90, Ns: int64(p90 / n)}, {P: 99, Ns: int64(p99 / n)}},
	}
	return &result.Result{Levels: []result.Level{lv}, Verdict: result.Verdict{State: result.Valid}}
}

func sides(runs ...*result.Result) []compare.Side {
	var out []compare.Side
	for _, r := range runs {
		out = append(out, compare.Side{Name: "run", Run: r})
	}
	return out
}

// Of comparisons of equal runs at most 5 % may raise an alarm; a slowdown of 5 % must be found in at least 95 %.
func TestAlarmsAndPower(t *testing.T) {
	const trials = comparisons
	for name, draw := range shapes {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 11))
			lib := library(rng, draw)
			for _, runs := range []int{1, 3} {
				alarms, found := 0, 0
				for range trials {
					var a, b, slow []*result.Result
					for range runs {
						a, b, slow = append(a, simulate(rng, lib, 1)), append(b, simulate(rng, lib, 1)), append(slow, simulate(rng, lib, 1.05))
					}
					if finding(t, a, b) != compare.Same {
						alarms++
					}
					if finding(t, a, slow) == compare.Worse {
						found++
					}
				}
				t.Logf("%d runs a side: %d alarms, %d found, of %d", runs, alarms, found, trials)
				if alarms > trials*5/100 {
					t.Errorf("%d runs a side: %d alarms in %d comparisons of equals", runs, alarms, trials)
				}
				if found < trials*95/100 {
					t.Errorf("%d runs a side: a slowdown of 5 %% was found %d times of %d", runs, found, trials)
				}
			}
		})
	}
}

func finding(t *testing.T, a, b []*result.Result) compare.Finding {
	t.Helper()
	rep, err := compare.Runs(sides(a...), sides(b...), compare.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	return rep.Finding
}
