//go:build !race

// Simulations have no threads and are slow under the race detector: `make unit` runs them without it.

package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/stats"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// traffic is latencies with known figures, in the order of their ends.
type traffic struct {
	name     string
	inFlight int
	// independent is how many requests are worth one independent one, for the mean.
	independent float64
	mean, rate  float64
	percentiles [4]float64
	// draw gives n latencies, and the time between the ends of each and of the one before.
	draw func(r *rand.Rand, n int, emit func(latency, gap float64))
	wide bool // intervals may hold the truth more often than they say
	// fewest is how many requests a run must have to be judged.
	fewest int
}

var (
	covered = []float64{50, 90, 95, 99}
	normals = [4]float64{0, 1.2815515655, 1.6448536270, 2.3263478740}
)

// alone makes traffic of one request at a time, without correlation.
func alone(name string, mean float64, percentiles [4]float64, one func(r *rand.Rand) float64) traffic {
	return traffic{name: name, inFlight: 1, independent: 1, mean: mean, rate: 1 / mean, percentiles: percentiles, draw: func(r *rand.Rand, n int, emit func(latency, gap float64)) {
		for range n {
			v := one(r)
			emit(v, v)
		}
	}}
}

// autoregression is latencies of 10 ± 1 of which neighbors are correlated by phi.
func autoregression(phi float64) func(r *rand.Rand, n int, emit func(latency, gap float64)) {
	return func(r *rand.Rand, n int, emit func(latency, gap float64)) {
		v := r.NormFloat64()
		for range n {
			emit(10+v, 10+v)
			v = phi*v + math.Sqrt(1-phi*phi)*r.NormFloat64()
		}
	}
}

// traffics is the traffic that the constants of the method were chosen with.
func traffics() []traffic {
	const phi, rho, wave = 0.9, 0.8, 64
	var lognormal, ar, waves, queue, mixed [4]float64
	for i, z := range normals {
		lognormal[i] = math.Exp(z)
		ar[i] = 10 + z
		waves[i] = 10 + z*math.Sqrt(1.25)
		queue[i] = -math.Log(1-covered[i]/100) / (1 - rho)
	}
	// Seven of ten at 10 ± 2 and three at 50 ± 10: each percentile is one of either part.
	mixed = [4]float64{10 + 2*0.5659488219, 50 + 10*0.4307272993, 50 + 10*0.9674215661, 50 + 10*1.8339146358}
	return []traffic{
		alone("independent", 1, [4]float64{math.Log(2), math.Log(10), math.Log(20), math.Log(100)}, (*rand.Rand).ExpFloat64),
		alone("heavy-tailed", math.Exp(0.5), lognormal, func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }),
		alone("bimodal", 22, mixed, func(r *rand.Rand) float64 {
			if r.Float64() < 0.3 {
				return 50 + 10*r.NormFloat64()
			}
			return 10 + 2*r.NormFloat64()
		}),
		{name: "AR(0.9)", inFlight: 1, independent: (1 + phi) / (1 - phi), mean: 10, rate: 0.1, percentiles: ar, draw: autoregression(phi)},
		// All requests of a wave share what the wave took.
		{name: "waves of 64", inFlight: wave, independent: wave, mean: 10, rate: wave / 10.0, percentiles: waves, draw: func(r *rand.Rand, n int, emit func(latency, gap float64)) {
			shared := 0.0
			for i := range n {
				gap := 0.0
				if i%wave == 0 {
					shared = 10 + r.NormFloat64()
					gap = shared
				}
				emit(shared+0.5*r.NormFloat64(), gap)
			}
		}},
		// The time in an M/M/1 queue; a mean of 4 in flight.
		{name: "M/M/1 at 0.8", inFlight: 4, independent: 82, mean: 1 / (1 - rho), rate: rho, percentiles: queue, draw: func(r *rand.Rand, n int, emit func(latency, gap float64)) {
			v, before := r.ExpFloat64()/(1-rho), r.ExpFloat64()/rho
			for range n {
				emit(v, before)
				gap := r.ExpFloat64() / rho
				next := max(0, v-gap) + r.ExpFloat64()
				before = gap + next - v
				v = next
			}
		}},
	}
}

// figures are the columns of the table.
var figures = []string{"mean", "p50", "p90", "p95", "p99", "throughput"}

// cell counts how the intervals of a figure came out.
type cell struct{ stated, open, held int }

func (c *cell) add(b stats.Bounds, ok bool, truth float64) {
	if !ok {
		return
	}
	c.stated++
	if math.IsInf(b.High, 1) {
		c.open++
	}
	if b.Low <= truth && truth <= b.High {
		c.held++
	}
}

func (c cell) text(trials int) string {
	if 100*c.stated < 3*trials {
		return "–"
	}
	s := fmt.Sprintf("%.1f", 100*float64(c.held)/float64(c.stated))
	if 100*c.stated <= 97*trials {
		s += fmt.Sprintf(", stated %d %%", 100*c.stated/trials)
	}
	if 100*c.open > 3*c.stated {
		s += fmt.Sprintf(", open %d %%", 100*c.open/c.stated)
	}
	return s
}

// cover measures n requests some times.
func cover(tr *traffic, n, trials int) []cell {
	cells := make([]cell, len(figures))
	rng := rand.New(rand.NewPCG(uint64(n), 0xc0))
	for range trials {
		trail := stats.NewTrail(covered...)
		var flow stats.Fold
		values := make([]float64, 0, n)
		tr.draw(rng, n, func(latency, gap float64) {
			trail.Add(latency)
			flow.Add(gap, 1)
			values = append(values, latency)
		})
		b, ok := trail.MeanBounds(tr.inFlight, 0.95)
		cells[0].add(b, ok, tr.mean)
		slices.Sort(values)
		ds, known := trail.Dependences(tr.inFlight)
		for i, p := range covered {
			if known[i] {
				b, ok = stats.QuantileBounds(p, n, func(k int) float64 { return values[k] }, ds[i], 0.95)
				cells[i+1].add(b, ok, tr.percentiles[i])
			}
		}
		b, ok = flow.RatioBounds(0, tr.inFlight, 0.95, 1)
		cells[5].add(b, ok, tr.rate)
	}
	return cells
}

// Every interval holds the truth in 95 ± 2 % of the runs that state one, where the run is worth at least 20 independent
// requests. A shorter run mostly states nothing, and what it states wrongly is at most 10 % of all runs: it cannot know a
// correlation that it has not seen. Intervals that are mostly open at the top may hold it more often.
func TestCoverage(t *testing.T) { coverTable(t, traffics()) }

// coverTable prints the coverage of all figures over a list of traffic, and fails where it is wrong.
func coverTable(t *testing.T, list []traffic) {
	t.Helper()
	trials := map[int]int{50: 200, 200: 120, 1000: 50, 5000: 15, 20_000: 5}
	sizes := []int{50, 200, 1000, 5000, 20_000}
	if outcome.Heavy() {
		trials = map[int]int{50: 4000, 200: 4000, 1000: 4000, 5000: 2000, 20_000: 1000, 100_000: 400}
		sizes = append(sizes, 100_000)
	}
	cells := make([][][]cell, len(list)) // by traffic and size
	var all sync.WaitGroup
	for i := range list {
		all.Go(func() {
			for _, n := range sizes {
				cells[i] = append(cells[i], cover(&list[i], n, trials[n]))
			}
		})
	}
	all.Wait()
	var table strings.Builder
	fmt.Fprintf(&table, "\n| latencies | requests | %s |\n|---|--:|%s\n", strings.Join(figures, " | "), strings.Repeat("--:|", len(figures)))
	for i, tr := range list {
		for k, n := range sizes {
			fmt.Fprintf(&table, "| %s | %d |", tr.name, n)
			for f, c := range cells[i][k] {
				fmt.Fprintf(&table, " %s |", c.text(trials[n]))
				if problem := c.problem(trials[n], float64(n) >= 20*tr.independent, tr.wide); n >= tr.fewest && problem != "" {
					t.Errorf("%s, %d requests, %s: %s", tr.name, n, figures[f], problem)
				}
			}
			table.WriteString("\n")
		}
	}
	t.Log(table.String())
}

// problem says what is wrong with a cell, beyond what chance does once in a thousand cells.
func (c cell) problem(trials int, long, wide bool) string {
	const chance = 3.3
	off := func(share float64, n int) float64 { return chance * math.Sqrt(share*(1-share)/float64(n)) }
	wrong := float64(c.stated-c.held) / float64(trials)
	if !long {
		if wrong > 0.10+off(0.10, trials) {
			return fmt.Sprintf("%.1f %% of the runs state a wrong interval", 100*wrong)
		}
		return ""
	}
	if c.stated < trials*2/5 {
		return fmt.Sprintf("%d of %d runs state an interval", c.stated, trials)
	}
	held := float64(c.held) / float64(c.stated)
	if held < 0.93-off(0.93, c.stated) || held > 0.97+off(0.97, c.stated) && c.open < c.stated/10 && !wide {
		return fmt.Sprintf("%.1f %% of the intervals hold the truth", 100*held)
	}
	return ""
}
