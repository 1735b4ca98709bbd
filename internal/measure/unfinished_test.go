package measure_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// simulated is a load whose requests are known from beginning to end.
type simulated struct{ sent, latency int64 }

// windowOf measures the requests from one time to another as a run does, which cannot see what ends later.
func windowOf(all []simulated, from, until int64) *measure.Window {
	w := measure.NewWindow(measure.Setup{})
	w.Begin(from)
	var pending []measure.Pending
	for _, r := range all {
		end := r.sent + r.latency
		switch {
		case r.sent < until && end > until:
			pending = append(pending, measure.Pending{Due: r.sent, Sent: r.sent})
		case end > from && end <= until:
			w.Add(&record.Record{Due: r.sent, Sent: r.sent, Written: r.sent, First: end, End: end, Responses: 1})
		}
	}
	w.Close(until, pending)
	return w
}

func stateOf(c result.Client) (result.State, []result.Reason) {
	lv := result.Level{Mode: "request_rate", Rate: 100, Stable: true, Client: c}
	v := measure.Conclude(measure.Run{Levels: []result.Level{lv}, Limits: make([][]result.Reason, 1), Longer: "measure longer"})
	return v.State, v.Reasons
}

// Every 50th response takes 8 s and a run of 4.5 s sees none of them end. The percentiles that they reach are bounds, and
// the verdict says that the run is too short.
func TestSlowRequestsThatDoNotEndAreSeen(t *testing.T) {
	var all []simulated
	for i := range int64(450) {
		r := simulated{i * 10 * ms, 20*ms + i%7*ms/3}
		if i%50 == 49 {
			r.latency = 8000 * ms
		}
		all = append(all, r)
	}
	c := windowOf(all, 0, 4500*ms).Client(4500 * time.Millisecond)
	if p := c.Latency.Point(99); !p.AtLeast || p.V < float64(1000*ms) || p.V > float64(8000*ms) || p.UpTo != 0 {
		t.Errorf("p99 is %+v, the truth is 8 s", p)
	}
	if p := c.Latency.Point(95); p.AtLeast || p.V > float64(23*ms) {
		t.Errorf("p95 is %+v", p)
	}
	if want := 4500*ms - all[49].sent; c.Unfinished < 9 || c.OldestNs != want {
		t.Errorf("%d in flight at the end, the oldest for %d ms, want %d", c.Unfinished, c.OldestNs/ms, want/ms)
	}
	state, why := stateOf(c)
	if state != result.TooShort || len(why) != 1 || !strings.Contains(why[0].What, "too short for this latency: p99 is at least") || why[0].Try == "" {
		t.Errorf("%s %+v", state, why)
	}
	// Long enough, the same server gives its true percentile.
	for i := int64(450); i < 2400; i++ {
		r := simulated{i * 10 * ms, 20 * ms}
		if i%50 == 49 {
			r.latency = 8000 * ms
		}
		all = append(all, r)
	}
	c = windowOf(all, 0, 24000*ms).Client(24 * time.Second)
	if state, why := stateOf(c); state != result.Valid || c.Latency.At(99) != float64(8000*ms) {
		t.Errorf("after 24 s: %s %+v, p99 %s", state, why, time.Duration(c.Latency.At(99)))
	}
}

// A percentile that is given as a bound must not lie above the truth, which a run that waits for all requests would show.
func TestBoundsAreNeverAboveTheTruth(t *testing.T) {
	bounds := 0
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var all []simulated
		for i := range int64(400) {
			all = append(all, simulated{i * 10 * ms, int64(math.Exp(2*rng.NormFloat64()) * 100 * float64(ms))})
		}
		c := windowOf(all, 0, 4000*ms).Client(4 * time.Second)
		var truth []int64
		for _, r := range all {
			truth = append(truth, r.latency)
		}
		slices.Sort(truth)
		for _, p := range c.Latency.Quantiles {
			if !p.AtLeast {
				continue
			}
			bounds++
			if want := stats.Interpolate(p.P, len(truth), func(k int) float64 { return float64(truth[k]) }); p.V > want {
				t.Errorf("seed %d: p%g at least %s, the truth is %s", seed, p.P, time.Duration(p.V), time.Duration(want))
			}
		}
	}
	if bounds < 300 {
		t.Errorf("only %d bounds: the test shows little", bounds)
	}
}

// Requests that are in flight at the end as at any other time do not make a run too short.
func TestRunsOfManyLatenciesAreLongEnough(t *testing.T) {
	latencies := map[string]func(*rand.Rand) float64{
		"constant":    func(rng *rand.Rand) float64 { return 20 + rng.Float64() },
		"exponential": func(rng *rand.Rand) float64 { return 20 * rng.ExpFloat64() },
		"lognormal":   func(rng *rand.Rand) float64 { return 20 * math.Exp(rng.NormFloat64()) },
		"two peaks": func(rng *rand.Rand) float64 {
			if rng.Float64() < 0.1 {
				return 200 + 20*rng.Float64()
			}
			return 20 + rng.Float64()
		},
	}
	const runs = 100
	for name, draw := range latencies {
		for _, slots := range []int{1, 8, 32} {
			short := 0
			for seed := range uint64(runs) {
				rng := rand.New(rand.NewPCG(seed, uint64(slots)))
				var all []simulated
				const length = 6000 * ms
				for range slots {
					for at := int64(0); at < length; {
						l := int64(draw(rng) * float64(ms))
						all = append(all, simulated{at, l})
						at += l
					}
				}
				if state, _ := stateOf(windowOf(all, length/4, length).Client(4500 * time.Millisecond)); state != result.Valid {
					short++
				}
			}
			if short > runs/100 {
				t.Errorf("%s, %d in flight: %d of %d runs are called too short", name, slots, short, runs)
			}
		}
	}
}

// A request that passes the edge of a window is in flight in both windows, for its time in each.
func TestFlightIsClippedAtTheEdgesOfAWindow(t *testing.T) {
	var all []simulated
	for slot := range int64(4) {
		for at := slot * 37 * ms; at < 6000*ms; at += 260 * ms {
			all = append(all, simulated{at, 260 * ms})
		}
	}
	for from := 600 * ms; from+600*ms < 6000*ms; from += 600 * ms {
		w := windowOf(all, from, from+600*ms)
		h := w.Health(measure.Load{Concurrency: 4, Wall: 600 * time.Millisecond})
		if math.Abs(h.AchievedInFlight-4) > 1e-6 {
			t.Errorf("window at %d ms: %g in flight, want 4", from/ms, h.AchievedInFlight)
		}
		if o := w.Overhead(4, 600*time.Millisecond, 0); o > 1e-6 {
			t.Errorf("window at %d ms: overhead %g %%, want 0", from/ms, o)
		}
	}
}
