package profile_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// probe opens a prober in simulated time.
func probe(t *testing.T, svc *testkit.Service, use func(ctx context.Context, p *profile.Prober)) {
	t.Helper()
	testkit.Simulate(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		m, _ := svc.Describe(ctx)
		pl := basePlan()
		pl.Load.Mode, pl.Measure.StopOnFailure, pl.Measure.FromSend = plan.RequestRate, false, false
		p, err := profile.OpenProber(ctx, &profile.Runner{Plan: pl, Service: svc, Model: m, Async: true, Source: func(int, int) engine.Source { return testkit.Source{} }})
		if err != nil {
			t.Fatal(err)
		}
		use(ctx, p)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A load is looked at while it runs. Figures leave out the time in which it settles, and one engine runs load after load.
func TestLooksAtALoad(t *testing.T) {
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n < 50 { // the first half second is slow
			return 100 * time.Millisecond, nil
		}
		return 10 * time.Millisecond, nil
	}}
	probe(t, svc, func(ctx context.Context, p *profile.Prober) {
		for _, rate := range []float64{100, 200} {
			var times []time.Duration
			var last measure.Sight
			var lv *result.Level
			watch := func(s measure.Sight) (measure.Look, bool) {
				times, last = append(times, s.Elapsed), s
				lv, _ = s.Level(0.99)
				return measure.Look{At: s.Elapsed + time.Second}, len(times) < 4
			}
			if err := p.Run(ctx, result.Level{Mode: plan.RequestRate, Rate: rate}, time.Second, measure.Look{Settle: time.Second, At: time.Second / 2}, watch); err != nil {
				t.Fatal(err)
			}
			if len(times) != 4 || times[3] != 3500*time.Millisecond {
				t.Errorf("looks at %v", times)
			}
			if want := int(3.5 * rate); last.Requests < want-10 || last.Requests > want || last.Failures != 0 || last.Down != "" {
				t.Errorf("%+v", last)
			}
			c := lv.Client
			if c.Latency.Max != float64(10*time.Millisecond) || c.InferPerSec < 0.98*rate || c.InferPerSec > 1.02*rate {
				t.Errorf("rate %g: %g/s, longest latency %v", rate, c.InferPerSec, time.Duration(c.Latency.Max))
			}
			if c.Latency.IntervalOf("p99") == nil {
				t.Errorf("no interval of p99: %+v", c.Latency)
			}
		}
	})
}

// Anew forgets what was measured before.
func TestFiguresBeginAnew(t *testing.T) {
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) { return time.Duration(max(1, 100-n)) * time.Millisecond, nil }}
	probe(t, svc, func(ctx context.Context, p *profile.Prober) {
		var longest []float64
		watch := func(s measure.Sight) (measure.Look, bool) {
			lv, _ := s.Level(0)
			longest = append(longest, lv.Client.Latency.Max)
			return measure.Look{At: s.Elapsed + time.Second, Anew: true}, len(longest) < 3
		}
		if err := p.Run(ctx, result.Level{Mode: plan.RequestRate, Rate: 100}, time.Second, measure.Look{At: time.Second, Anew: true}, watch); err != nil {
			t.Fatal(err)
		}
		if longest[0] < float64(90*time.Millisecond) || longest[2] != float64(time.Millisecond) {
			t.Errorf("longest latencies %v", longest)
		}
	})
}

// A server that does not answer is seen, and the next load finds it back.
func TestServerThatIsDown(t *testing.T) {
	down := true
	svc := &testkit.Service{Answer: func(int64) (time.Duration, error) {
		if down {
			return 0, &service.Error{Class: record.Connect, Err: errors.New("connection refused")}
		}
		return time.Millisecond, nil
	}}
	probe(t, svc, func(ctx context.Context, p *profile.Prober) {
		for _, want := range []bool{true, false} {
			down = want
			var seen string
			watch := func(s measure.Sight) (measure.Look, bool) {
				seen = s.Down
				return measure.Look{At: s.Elapsed + time.Second}, s.Down == "" && s.Elapsed < 10*time.Second
			}
			if err := p.Run(ctx, result.Level{Mode: plan.RequestRate, Rate: 100}, time.Second, measure.Look{At: time.Second}, watch); err != nil {
				t.Fatal(err)
			}
			if (seen != "") != want {
				t.Errorf("down %v: %q", want, seen)
			}
		}
	})
}
