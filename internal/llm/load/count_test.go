package load_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// A random load of conversations on a server that fails, cuts off and delays at random: every request that the server
// saw is one sample, and the samples of the measurement are the answered, failed and cut requests of its numbers.
func TestEveryRequestIsOneSample(t *testing.T) {
	testkit.Rounds(t, 150, func(t *testing.T, rng *rand.Rand) {
		testkit.Simulate(t, func(t *testing.T) { countRandomLoad(t, rng) })
	})
}

func countRandomLoad(t *testing.T, rng *rand.Rand) {
	s := randomServer(rng)
	cfg := config(t, s, []int{-1, 1 + rng.IntN(100)}[rng.IntN(2)], randomTurns(rng)...)
	cfg.Options = randomOptions(rng)
	samples, ids := map[string]uint64{}, map[string]bool{}
	measured, tapped := uint64(0), uint64(0)
	cfg.Sample = func(x *llm.Sample) {
		if ids[x.RequestID] {
			t.Errorf("request %s is two samples", x.RequestID)
		}
		ids[x.RequestID] = true
		samples[x.Class.String()]++
		if !x.Warmup {
			measured++
		}
	}
	cfg.Tap = func(*record.Record) error { tapped++; return nil }
	ctx, interrupt := context.WithTimeout(t.Context(), time.Hour)
	hard, cut := context.WithTimeout(t.Context(), time.Hour)
	defer interrupt()
	defer cut()
	if rng.IntN(3) == 0 {
		after := time.Duration(rng.IntN(1000)) * time.Millisecond
		time.AfterFunc(after, interrupt)
		time.AfterFunc(after+time.Duration(rng.IntN(2000))*time.Millisecond, cut)
	}
	lv := randomLevel(rng)
	if lv.Mode == plan.FixedSchedule && cfg.Options.Requests == 0 {
		cfg.Options.Requests = 200 // an endless source has all its requests due at once
	}
	out, err := load.Run(ctx, hard, cfg, lv)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(s.ends(), samples); d != "" {
		t.Errorf("the server's ends (-) and samples (+) differ: %s", d)
	}
	c := out.Collector
	if sum := c.Requests() + c.Failed() + c.Cut(); sum != measured || tapped != measured {
		t.Errorf("%d answered, %d failed and %d cut, but %d samples are measured and %d records shown", c.Requests(), c.Failed(), c.Cut(), measured, tapped)
	}
	if n := out.Level.Client; n.Requests != c.Requests() || n.Failed != c.Failed() {
		t.Errorf("the level has %d requests and %d failures, its metrics %d and %d", n.Requests, n.Failed, c.Requests(), c.Failed())
	}
	var failed uint64
	for _, f := range out.Level.Failures {
		failed += f.Count
	}
	if failed != c.Failed() {
		t.Errorf("failures by text are %d, in all %d", failed, c.Failed())
	}
	var ended, broken uint64
	for _, x := range out.Level.Timeline.Slices {
		ended, broken = ended+x.Ended, broken+x.Failed
	}
	if ended != c.Requests() || broken != c.Failed() {
		t.Errorf("the timeline has %d requests and %d failures, the metrics %d and %d", ended, broken, c.Requests(), c.Failed())
	}
	if n := cfg.Options.Requests; n > 0 && measured > uint64(n) {
		t.Errorf("%d requests were measured, at most %d asked for", measured, n)
	}
}

// randomServer streams up to six tokens, and fails a share of the requests: at once, or with a stream that says so.
func randomServer(rng *rand.Rand) *server {
	s := &server{first: time.Duration(1+rng.IntN(20)) * time.Millisecond, gap: time.Duration(1+rng.IntN(5)) * time.Millisecond, tokens: 1 + rng.IntN(6), ended: map[string]uint64{}}
	share := []float64{0, 0.05, 0.5}[rng.IntN(3)]
	fails := make([]int, 499)
	for i := range fails {
		if rng.Float64() < share {
			fails[i] = 1 + rng.IntN(3)
		}
	}
	s.answer = func(n int64, _ string) (events []string, failure *service.Error) {
		for range s.tokens {
			events = append(events, token("x "))
		}
		switch fails[n%int64(len(fails))] {
		case 1: // after some tokens
			return events, &service.Error{Class: record.Transport, Text: "connection reset"}
		case 2:
			return nil, &service.Error{Class: record.Server, Code: 500, Text: "no"}
		case 3:
			return append(events, "data: {\"error\":{\"message\":\"out of memory\"}}\n\n"), &service.Error{Class: record.Server, Text: "out of memory"}
		}
		return append(events, usage(3, s.tokens), "data: [DONE]\n\n"), nil
	}
	return s
}

func randomTurns(rng *rand.Rand) []llm.Turn {
	var turns []llm.Turn
	for i := range 1 + rng.IntN(3) {
		turns = append(turns, llm.Turn{
			Texts: []string{"x"}, MaxTokens: 1 + rng.IntN(6), Delay: time.Duration(rng.IntN(20)) * time.Millisecond,
			Timed: i == 0, At: time.Duration(rng.IntN(50)) * time.Millisecond,
		})
	}
	return turns
}

func randomOptions(rng *rand.Rand) load.Options {
	o := load.Options{
		Duration: time.Duration(200+rng.IntN(1500)) * time.Millisecond, Grace: time.Duration(rng.IntN(100)) * time.Millisecond, Seed: rng.Uint64(),
		Requests: rng.IntN(2) * (1 + rng.IntN(200)), Sessions: rng.IntN(2) * (1 + rng.IntN(60)),
		MaxErrors: rng.IntN(2) * (1 + rng.IntN(30)), MaxErrorShare: float64(rng.IntN(2)) * 0.3,
	}
	o.Shape = randomShape(rng)
	if rng.IntN(3) == 0 {
		o.Warmup = load.Warmup{Shape: randomShape(rng), Requests: 1 + rng.IntN(40), Duration: time.Second, Grace: time.Duration(rng.IntN(50)) * time.Millisecond}
	}
	if rng.IntN(4) == 0 {
		o.Cooldown = o.Duration / 4
	}
	if rng.IntN(3) == 0 {
		o.CancelShare, o.CancelDelay = rng.Float64(), time.Duration(rng.IntN(30))*time.Millisecond
		o.CancelTokens = float64(rng.IntN(2)) * rng.Float64()
	}
	if rng.IntN(4) == 0 {
		o.Timeout = time.Duration(1+rng.IntN(60)) * time.Millisecond
	}
	return o
}

func randomShape(rng *rand.Rand) load.Shape {
	return load.Shape{
		Arrival: []load.Arrival{load.Constant, load.Poisson, load.Gamma}[rng.IntN(3)], Smoothness: 0.2 + 3*rng.Float64(),
		Ramp: time.Duration(rng.IntN(2)*rng.IntN(300)) * time.Millisecond, Prefill: rng.IntN(3) * rng.IntN(3),
	}
}

func randomLevel(rng *rand.Rand) load.Level {
	switch rng.IntN(5) {
	case 0:
		return closed(1 + rng.IntN(10))
	case 1:
		lv := rate(10 + 500*rng.Float64())
		lv.Concurrency = rng.IntN(2) * (1 + rng.IntN(8))
		return lv
	case 2:
		lv := rate(10 + 200*rng.Float64())
		lv.Users = 1 + rng.IntN(8)
		return lv
	case 3:
		return load.Level{Mode: plan.Concurrency, Concurrency: 1, Stages: []pace.Stage{
			{From: 1, To: float64(1 + rng.IntN(8)), Time: 300 * time.Millisecond}, {From: 3, To: 1, Time: 300 * time.Millisecond},
		}}
	default:
		return load.Level{Mode: plan.FixedSchedule}
	}
}
