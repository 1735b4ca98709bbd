//go:build !race

// Simulations have no threads and are slow under the race detector: `make unit` runs them without it.

package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// trialsOf is how many comparisons are simulated, by the number of requests of a run. `make test-heavy` makes the table of
// docs/verification.md.
func trialsOf() map[int]int {
	if outcome.Heavy() {
		return map[int]int{100: 600, 1000: 600, 10_000: 150, 100_000: 30, 1_000_000: 6}
	}
	return map[int]int{100: 150, 1000: 150, 10_000: 20}
}

// setting is how a comparison is made: runs a side, and how much runs of the same thing differ.
type setting struct {
	runs  int
	drift float64
}

func (s setting) String() string {
	return fmt.Sprintf("%d a side, drift of %g %%", s.runs, 100*s.drift)
}

var settings = []setting{{1, 0.005}, {3, 0}, {3, 0.005}, {3, 0.01}, {3, 0.03}}

// tally counts findings of comparisons.
type tally struct {
	trials, alarms, found, missed int
}

func (c *tally) add(o tally) {
	c.trials += o.trials
	c.alarms += o.alarms
	c.found += o.found
	c.missed += o.missed
}

func (c tally) String() string {
	share := func(n int) float64 { return 100 * float64(n) / float64(c.trials) }
	return fmt.Sprintf("of %d, equal runs raise %.1f %% alarms; 5 %% slower are %.1f %% found, %.1f %% passed as equal", c.trials, share(c.alarms), share(c.found), share(c.missed))
}

// compareOnce makes both comparisons of a setting: of equals, and with B slower by 5 %.
func compareOnce(t *testing.T, rng *rand.Rand, s setting, base []*result.Level) tally {
	t.Helper()
	var a, b, slow []*result.Result
	for i := range s.runs {
		here, there := math.Exp(s.drift*rng.NormFloat64()), math.Exp(s.drift*rng.NormFloat64())
		other := base[len(base)/2+i]
		a, b, slow = append(a, scaled(base[i], here)), append(b, scaled(other, there)), append(slow, scaled(other, there*1.05))
	}
	c := tally{trials: 1}
	if f := finding(t, a, b); f == compare.Worse || f == compare.Better {
		c.alarms = 1
	}
	f := finding(t, a, slow)
	if f == compare.Worse {
		c.found = 1
	}
	if f == compare.Same {
		c.missed = 1
	}
	return c
}

// powerful tells where a slowdown of 5 % must be found in nine of ten comparisons. Elsewhere no test can: the means of so
// few requests, or of so few runs that differ so much, differ by 5 % by themselves.
func powerful(name string, n int, s setting) bool {
	switch s {
	case setting{1, 0.005}:
		return name == "narrow" && n >= 1000 || n >= 100_000
	case setting{3, 0}:
		return name == "narrow" || n >= 10_000
	case setting{3, 0.005}:
		return name == "narrow" && n >= 1000 || n >= 100_000
	}
	return false
}

// Of comparisons of equal runs at most 5 % may raise an alarm, all figures together, whatever the shape of latencies,
// the number of requests and, with several runs a side, the drift between runs. Of runs that are 5 % slower at most 10 %
// may pass as equal: they are found or the answer is "cannot tell". Where there is enough to see it, 90 % are found.
func TestAlarmsAndPower(t *testing.T) {
	outcome.NotQuick(t)
	var mu sync.Mutex
	all := map[setting]*tally{}
	t.Run("shapes", func(t *testing.T) {
		for name := range shapes {
			for n, trials := range trialsOf() {
				t.Run(fmt.Sprintf("%s, %d requests", name, n), func(t *testing.T) {
					t.Parallel()
					for s, c := range compareMany(t, name, n, trials) {
						mu.Lock()
						if all[s] == nil {
							all[s] = &tally{}
						}
						all[s].add(*c)
						mu.Unlock()
					}
				})
			}
		}
	})
	for _, s := range settings {
		t.Logf("%v: %v", s, all[s])
		if all[s].alarms*20 > all[s].trials {
			t.Errorf("%v: %v: more than 5 %% alarms", s, all[s])
		}
	}
}

// compareMany holds one shape and number of requests to the promise. The alarms of one setting may exceed 5 % by what
// chance does in one of a thousand tests; those of all shapes together may not exceed it.
func compareMany(t *testing.T, name string, n, trials int) map[setting]*tally {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	out := map[setting]*tally{}
	for range trials {
		base := levels(rng, name, n, 2*settings[len(settings)-1].runs)
		for _, s := range settings {
			if out[s] == nil {
				out[s] = &tally{}
			}
			out[s].add(compareOnce(t, rng, s, base))
		}
	}
	for _, s := range settings {
		c := out[s]
		t.Logf("%v: %v", s, c)
		if stats.BinomialTail(float64(c.alarms), float64(c.trials), 0.05) < 0.001 {
			t.Errorf("%v: %v: more than 5 %% alarms", s, c)
		}
		if stats.BinomialTail(float64(c.missed), float64(c.trials), 0.1) < 0.001 {
			t.Errorf("%v: %v: more than 10 %% passed as equal", s, c)
		}
		if powerful(name, n, s) && c.found*10 < c.trials*9 {
			t.Errorf("%v: %v: fewer than 90 %% found", s, c)
		}
	}
	return out
}

func levels(rng *rand.Rand, name string, n, runs int) []*result.Level {
	out := make([]*result.Level, runs)
	for i := range out {
		out[i] = simulate(rng, shapes[name], n)
	}
	return out
}

// Three runs a side that differ by 3 % among themselves cannot show 5 %. Fifteen can.
func TestManyRunsSeeThroughDrift(t *testing.T) {
	outcome.NotQuick(t)
	t.Parallel()
	const trials = 100
	rng := rand.New(rand.NewPCG(15, 16))
	var all tally
	for range trials {
		all.add(compareOnce(t, rng, setting{15, 0.03}, levels(rng, "narrow", 200, 30)))
	}
	t.Log(all)
	if all.alarms*20 > trials || all.found*10 < trials*9 {
		t.Error(all)
	}
}

// --max-regression 3% fails where the bound of the interval lies beyond 3 %: a true change of 2 to 3 % is let pass in at
// least 95 % of runs, one of 10 % in at most 10 %.
func TestMaxRegressionMeansTheBound(t *testing.T) {
	t.Parallel()
	const trials = 150
	for _, change := range []float64{0.02, 0.025, 0.03, 0.1} {
		rng := rand.New(rand.NewPCG(9, 10))
		failed := 0
		for range trials {
			drift := func() float64 { return math.Exp(0.005 * rng.NormFloat64()) }
			rep := report(t, []*result.Result{run(rng, "narrow", 2000, drift())}, []*result.Result{run(rng, "narrow", 2000, (1+change)*drift())})
			worse := rep.Regressions(0.03)
			for _, r := range worse {
				if low := min(math.Abs(r.Low), math.Abs(r.High)); low <= 0.03 {
					t.Fatalf("%s fails with an interval from %g to %g", r.Name, r.Low, r.High)
				}
			}
			if len(worse) > 0 {
				failed++
			}
		}
		t.Logf("a true change of %g %%: %d of %d fail", 100*change, failed, trials)
		if change <= 0.03 && failed*20 > trials || change > 0.03 && failed*10 < trials*9 {
			t.Errorf("a true change of %g %%: %d of %d fail", 100*change, failed, trials)
		}
	}
}

// Failures come in bursts; equal servers raise an alarm in at most 5 % of comparisons, from none to one in ten.
func TestFailuresRaiseNoFalseAlarms(t *testing.T) {
	t.Parallel()
	const requests, trials = 5000, 4000
	for _, bursts := range []float64{0.5, 2, 10, 100} {
		rng := rand.New(rand.NewPCG(11, 12))
		failing := func() *result.Result {
			var failed uint64
			for at := rng.ExpFloat64(); at < bursts; at += rng.ExpFloat64() {
				failed += 1 + uint64(rng.IntN(4))
			}
			return &result.Result{Levels: []result.Level{{Mode: plan.Concurrency, Concurrency: 1, Client: result.Client{Requests: requests - failed, Failed: failed}}}}
		}
		alarms := 0
		for range trials {
			if finding(t, []*result.Result{failing()}, []*result.Result{failing()}) != compare.Same {
				alarms++
			}
		}
		if alarms*20 > trials {
			t.Errorf("%g bursts a run: %d alarms of %d", bursts, alarms, trials)
		}
	}
}

// A slow warm-up is in the timeline and not in the numbers: it must not hide a slowdown of 10 %.
func TestWarmUpDoesNotHideASlowdown(t *testing.T) {
	t.Parallel()
	const trials = 100
	rng := rand.New(rand.NewPCG(13, 14))
	warmed := func(factor float64) *result.Result {
		const warm = length
		tl, win := measure.NewTimeline(measure.Setup{}, 0), measure.NewWindow(measure.Setup{Batch: 1})
		for at := int64(0); at < warm+length; {
			latency := 10e6 * factor * shapes["narrow"](rng)
			if at < warm {
				latency *= 1 + 4*(1-float64(at)/float64(warm))
			}
			r := record.Record{Due: at, Sent: at, Written: at, First: at + int64(latency), End: at + int64(latency), Responses: 1}
			tl.Add(&r)
			if at = r.End; at >= warm && at < warm+length {
				win.Add(&r)
			}
		}
		lv := result.Level{Mode: plan.Concurrency, Concurrency: 1, Client: win.Client(time.Duration(length)), Timeline: tl.Result(warm + length), Batches: tl.Batches(warm, warm+length)}
		return &result.Result{Levels: []result.Level{lv}}
	}
	found := 0
	for range trials {
		if finding(t, []*result.Result{warmed(1)}, []*result.Result{warmed(1.1)}) == compare.Worse {
			found++
		}
	}
	if found*10 < trials*9 {
		t.Errorf("a slowdown of 10 %% after a slow warm-up was found %d times of %d", found, trials)
	}
}
