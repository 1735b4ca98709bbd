package pace_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/testkit/law"
)

func stages(t *testing.T, text string) []pace.Stage {
	t.Helper()
	list, err := pace.ParseStages(text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// due is the whole schedule in seconds.
func due(s pace.Schedule) []float64 {
	var out []float64
	for {
		at, ok := s.Next()
		if !ok {
			return out
		}
		out = append(out, at.Seconds())
	}
}

// reached is Λ(t), the integral of the rate from the start to t. It is computed by adding up thin slices, so that it shares
// nothing with the formula of the schedule.
func reached(list []pace.Stage, t float64) float64 {
	const slices = 16
	var sum float64
	for _, s := range list {
		d := s.Time.Seconds()
		until := min(d, t)
		if until <= 0 {
			break
		}
		for i := range slices {
			x := (float64(i) + 0.5) * until / slices
			sum += (s.From + (s.To-s.From)*x/d) * until / slices
		}
		t -= d
	}
	return sum
}

// Evenly spaced request n of a rate that changes is due when the integral of the rate reaches n, and there are as many requests
// as the integral over all stages.
func TestStagesDeterministic(t *testing.T) {
	f := func(text string, want int) {
		t.Helper()
		list := stages(t, text)
		got := due(pace.Stages(list, nil))
		if len(got) != want {
			t.Errorf("%s: %d requests, want %d", text, len(got), want)
		}
		for i, at := range got {
			if i%max(1, len(got)/50) != 0 {
				continue
			}
			if n := reached(list, at); math.Abs(n-float64(i+1)) > 1e-3 {
				t.Errorf("%s: request %d is due at %v s, where the integral of the rate is %v", text, i+1, at, n)
			}
		}
	}
	f("10:10s", 100)
	f("0-20:10s", 100)
	f("20-0:10s", 100)
	f("10:5s,10-50:10s,200:1s,50-10:10s", 50+300+200+300)
	f("0.5-1.5:1m", 60)
	f("3.3333333333333335:30s", 100) // the last request is due at the very end
	f("99.99999999-100.00000001:10s", 1000)
}

// Poisson arrivals at a rate that changes: the integral of the rate at the due times is a Poisson process of rate one, so its
// gaps are exponential, and the counts of disjoint intervals have mean and variance of the integral over each.
func TestStagesPoisson(t *testing.T) {
	list := stages(t, "20:10s,20-200:30s,800:2s,200-0:20s")
	var gaps []float64
	const runs, bins = 400, 6
	edges := []float64{0, 10, 25, 40, 42, 50, 62}
	var sum, square [bins]float64
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var counts [bins]float64
		last := 0.0
		for _, at := range due(pace.Stages(list, rng.ExpFloat64)) {
			if seed < 2 {
				n := reached(list, at)
				gaps = append(gaps, n-last)
				last = n
			}
			for i := range bins {
				if at > edges[i] && at <= edges[i+1] {
					counts[i]++
				}
			}
		}
		for i, n := range counts {
			sum[i] += n
			square[i] += n * n
		}
	}
	law.Fits(t, "gaps", gaps, law.Exponential)
	law.Independent(t, "gaps", gaps)
	law.PoissonCounts(t, gaps)
	for i := range bins {
		want := reached(list, edges[i+1]) - reached(list, edges[i])
		mean := sum[i] / runs
		variance := square[i]/runs - mean*mean
		// The mean of the runs has a standard error of √(want/runs); the variance one of about want·√(2/runs).
		if math.Abs(mean-want) > 5*math.Sqrt(want/runs) || math.Abs(variance-want) > 5*want*math.Sqrt(2.0/runs) {
			t.Errorf("from %g to %g s: mean %.2f, variance %.2f, want %.2f for both", edges[i], edges[i+1], mean, variance, want)
		}
	}
}

func TestStagesText(t *testing.T) {
	list := stages(t, "10:30s, 10-50:1m,0.25-0:500ms,7:5")
	text, err := list[1].MarshalText()
	if err != nil || string(text) != "10-50:1m0s" {
		t.Errorf("%s, %v", text, err)
	}
	for _, s := range append(list, pace.Stage{From: 3, To: 3, Time: pace.Forever}) {
		var back pace.Stage
		if err := back.UnmarshalText([]byte(s.String())); err != nil || back != s {
			t.Errorf("%v comes back as %v, %v", s, back, err)
		}
	}
	if d := pace.Length(list); d != 95500*time.Millisecond {
		t.Errorf("length %v", d)
	}
	if r := pace.StagesRate(stages(t, "10:10s,10-30:10s")); r != 15 {
		t.Errorf("mean rate %v", r)
	}
	for _, bad := range []string{"", "10", "10:", ":5s", "10:-5s", "a:5s", "10-:5s", "-5:5s", "0:5s", "NaN:5s", "1e300:5s", "10:5s,"} {
		if got, err := pace.ParseStages(bad); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
	if d := cmp.Diff([]pace.Stage{{From: 1, To: 2, Time: time.Second}}, stages(t, "1-2:1s")); d != "" {
		t.Error(d)
	}
}
