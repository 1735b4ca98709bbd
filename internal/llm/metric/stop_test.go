//go:build !race

// Simulations have no threads and are slow under the race detector: `make unit` runs them without it.

package metric_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/redline-bench/redline/internal/llm/metric"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// The interval at the stop holds the truth about as often as it says.
func TestCoverageAtTheStop(t *testing.T) {
	target, err := metric.ParseTarget("latency.p99 ± 10 %")
	if err != nil {
		t.Fatal(err)
	}
	trials, held := 40, 0
	if outcome.Heavy() {
		trials = 1000
	}
	rng := rand.New(rand.NewPCG(1, 5))
	for range trials {
		c, w, next := metric.New(metric.Options{Level: 0.95}), metric.Watch{Target: target}, serial()
		for done := false; !done; done = w.Done(c) {
			c.Add(next(100 * math.Exp(0.5*rng.NormFloat64())))
		}
		m, _ := metric.Find(c.Metrics(), "request_latency")
		if iv, truth := m.IntervalOf("p99"), 100*math.Exp(0.5*2.3263478740); iv.Low <= truth && truth <= iv.High {
			held++
		}
	}
	t.Logf("%d of %d intervals hold p99", held, trials)
	if float64(held) < 0.93*float64(trials)-2*math.Sqrt(0.93*0.07*float64(trials)) {
		t.Errorf("%d of %d intervals hold p99", held, trials)
	}
}
