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

// shape draws one latency as a multiple of about the mean.
type shape func(rng *rand.Rand) float64

// The distributions that servers really have: little spread, as with a model of fixed size; a long tail; two paths, as
// with a cache; rare stalls of tens of times the median.
var shapes = map[string]shape{
	"narrow":    func(rng *rand.Rand) float64 { return math.Exp(0.05 * rng.NormFloat64()) },
	"lognormal": func(rng *rand.Rand) float64 { return 0.9 * math.Exp(0.5*rng.NormFloat64()) },
	"two paths": func(rng *rand.Rand) float64 {
		base := 0.4
		if rng.Float64() < 0.3 {
			base = 2.25
		}
		return base * math.Exp(0.2*rng.NormFloat64())
	},
	"rare stalls": func(rng *rand.Rand) float64 {
		v := 0.85 * math.Exp(0.3*rng.NormFloat64())
		if rng.Float64() < 0.001 {
			v += 25 * math.Pow(1-rng.Float64(), -1/2.5) // Pareto
		}
		return v
	},
}

const (
	inFlight = 8
	length   = int64(15e9) // the default run: three windows of 5 s
	step     = int64(1e8)
)

// simulate measures a closed-loop run of about n requests, request by request, with the parts that measure real runs.
// Within the run latencies drift slowly by about 1 %.
func simulate(rng *rand.Rand, draw shape, n int) *result.Level {
	const within, memory = 0.01, 0.95
	pace := float64(inFlight) * float64(length) / float64(n)
	waves := make([]float64, length/step+1)
	for i := range waves {
		waves[i] = within * rng.NormFloat64()
		if i > 0 {
			waves[i] = memory*waves[i-1] + math.Sqrt(1-memory*memory)*waves[i]
		}
	}
	win, tl := measure.NewWindow(measure.Setup{Batch: 1}), measure.NewTimeline(measure.Setup{}, 0)
	for range inFlight {
		at := -int64(rng.Float64() * pace) // the load runs already when the first window begins
		for at < length {
			end := at + int64(pace*draw(rng)*math.Exp(waves[max(0, at/step)]))
			if end > 0 && end < length {
				r := record.Record{Due: at, Sent: at, Written: at, First: end, End: end, Responses: 1}
				win.Add(&r)
				tl.Add(&r)
			}
			at = end
		}
	}
	return &result.Level{Mode: plan.Concurrency, Concurrency: inFlight, Client: win.Client(15e9), Batches: tl.Batches(0, length)}
}

// scaled is the run with all latencies longer by a factor.
func scaled(lv *result.Level, factor float64) *result.Result {
	c := *lv
	c.Client.InferPerSec /= factor
	l := &c.Client.Latency
	*l = l.In(result.Nanoseconds, factor)
	return &result.Result{Levels: []result.Level{c}, Verdict: result.Verdict{State: result.Valid}}
}

func run(rng *rand.Rand, name string, n int, factor float64) *result.Result {
	return scaled(simulate(rng, shapes[name], n), factor)
}

func sides(runs ...*result.Result) []compare.Side {
	var out []compare.Side
	for _, r := range runs {
		out = append(out, compare.Side{Name: "run", Run: r})
	}
	return out
}

func report(t *testing.T, a, b []*result.Result) *compare.Report {
	t.Helper()
	rep, err := compare.Runs(sides(a...), sides(b...), compare.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func finding(t *testing.T, a, b []*result.Result) compare.Finding {
	t.Helper()
	return report(t, a, b).Finding
}
