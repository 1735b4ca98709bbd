package find_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/find"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
)

// script is a runner without time: the latency in ms of a load, known to 1 %.
type script struct {
	latency func(load float64) float64
	reasons func(load float64, lv *result.Level) []result.Reason
	down    func(load float64) string
	loads   []float64
	fail    error
	looked  func()
	late    time.Duration // of each look
}

func (s *script) Run(ctx context.Context, load float64, look measure.Look, watch measure.Watch) error {
	s.loads = append(s.loads, load)
	for more := true; more; {
		if err := errors.Join(ctx.Err(), s.fail); err != nil {
			return err
		}
		sight := measure.Sight{Elapsed: look.At + s.late, Requests: int(100 * look.At.Seconds())}
		if s.down != nil {
			sight.Down = s.down(load)
		}
		sight.Level = func(confidence float64) (*result.Level, []result.Reason) {
			ns := s.latency(load) * 1e6
			lv := &result.Level{Client: result.Client{Requests: 1000, Latency: result.Metric{
				Unit: result.Nanoseconds, Avg: ns, Interval: &result.Interval{Low: 0.99 * ns, High: 1.01 * ns, Level: confidence},
			}}}
			if s.reasons == nil {
				return lv, nil
			}
			return lv, s.reasons(load, lv)
		}
		look, more = watch(sight)
		if s.looked != nil {
			s.looked()
		}
	}
	return nil
}

func TestRunDrivesARunner(t *testing.T) {
	r := &script{latency: linear}
	s := newSearch(t, config(t, "avg<300ms", "error_rate<1%"))
	shown := 0
	if err := s.Run(t.Context(), r, func(measure.Sight) { shown++ }); err != nil {
		t.Fatal(err)
	}
	a := s.Answer()
	if c := a.Capacities[0]; a.State != find.Complete || !near(c.Value, 300) || c.Binding != "avg<300ms" || shown < len(a.Probes) {
		t.Errorf("%s %+v, shown %d times", a.State, c, shown)
	}
	if levels := a.Levels(); len(levels) != 1 || levels[0].Client.Requests != 1000 {
		t.Errorf("levels %+v", levels)
	}
	f := s.Result("rate")
	if f.Capacity == nil || f.By != "rate" || len(f.Probes) != len(a.Probes) || f.Probes[0].Figures[0].Interval == nil || f.Tiers != nil {
		t.Errorf("%+v", f)
	}
}

// A machine that stands still delays looks beyond the end of a probe. The probe has its figures all the same.
func TestLateLooks(t *testing.T) {
	conf := config(t, "avg<300ms")
	conf.Settle, conf.MinTime, conf.MaxTime = time.Second, time.Second, time.Second
	s := newSearch(t, conf)
	if err := s.Run(t.Context(), &script{latency: linear, late: 700 * time.Millisecond}, nil); err != nil {
		t.Fatal(err)
	}
	if c := s.Answer().Capacities[0]; !near(c.Value, 300) {
		t.Errorf("%+v", c)
	}
}

// A load that holds in spite of a busy client holds. One that fails, or was not sent, is the client's limit.
func TestClientLimitOfARun(t *testing.T) {
	late := []result.Reason{{What: "requests were sent late", Late: true}}
	f := func(name string, want find.Outcome, reasons func(load float64, lv *result.Level) []result.Reason) {
		t.Helper()
		s := newSearch(t, config(t, "avg<300ms"))
		if err := s.Run(t.Context(), &script{latency: linear, reasons: reasons}, nil); err != nil {
			t.Fatal(err)
		}
		a := s.Answer()
		if c := a.Capacities[0]; c.Outcome != want || (c.Value > 0) != (want == find.Found) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	f("late, but only by a part of what is too much", find.Found, func(_ float64, lv *result.Level) []result.Reason {
		lv.Health.LagP99Ns = int64(time.Millisecond)
		return late
	})
	f("late by more than what is too much", find.ClientLimit, func(_ float64, lv *result.Level) []result.Reason {
		lv.Health.LagP99Ns = int64(time.Hour)
		return late
	})
	f("not sent", find.ClientLimit, func(load float64, lv *result.Level) []result.Reason {
		if load < 200 {
			return nil
		}
		lv.Health.AskedRate, lv.Health.AchievedRate = load, 190
		return []result.Reason{{What: "sent 190 requests"}}
	})
}

// A short disturbance of the client at one load does not end the search there.
func TestDisturbedProbeIsRepeated(t *testing.T) {
	disturbed := false
	r := &script{latency: linear, reasons: func(load float64, _ *result.Level) []result.Reason {
		if load < 300 || disturbed {
			return nil
		}
		disturbed = true
		return []result.Reason{{What: "the client did not run for 1s"}}
	}}
	s := newSearch(t, config(t, "avg<300ms"))
	if err := s.Run(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if c := s.Answer().Capacities[0]; !disturbed || c.Outcome != find.Found || !near(c.Value, 300) {
		t.Errorf("%+v", c)
	}
}

func TestRunEndsEarly(t *testing.T) {
	f := func(name string, want find.State, reason string, r *script, stop func(context.CancelFunc) func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if stop != nil {
			r.looked = stop(cancel)
		}
		s := newSearch(t, config(t, "avg<300ms"))
		_ = s.Run(ctx, r, nil)
		a := s.Answer()
		if a.State != want || !strings.Contains(a.Reason, reason) || len(a.Probes) == 0 {
			t.Errorf("%s: %s, %q, %d probes", name, a.State, a.Reason, len(a.Probes))
		}
	}
	f("interrupt", find.Interrupted, "interrupted", &script{latency: linear}, func(cancel context.CancelFunc) func() {
		n := 0
		return func() {
			if n++; n == 20 {
				cancel()
			}
		}
	})
	f("runner", find.Failed, "no ports", &script{latency: linear, fail: errors.New("no ports")}, nil)
	f("server", find.Failed, "connection refused", &script{latency: linear, down: func(float64) string { return "connection refused" }}, nil)
}

// A server that dies in the only load of a search is no answer about that load. One that comes back is.
func TestServerDiesInTheOnlyLoad(t *testing.T) {
	f := func(name string, want find.State, down func(loads int) bool) {
		t.Helper()
		c := config(t, "avg<300ms")
		c.Lowest, c.Highest, c.Start = 100, 100, 100
		s := newSearch(t, c)
		r := &script{latency: linear}
		r.down = func(float64) string {
			if down(len(r.loads)) {
				return "connection refused"
			}
			return ""
		}
		if err := s.Run(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
		if a := s.Answer(); a.State != want || want == find.Failed && !strings.Contains(a.Reason, "connection refused") {
			t.Errorf("%s: %s, %q, %+v", name, a.State, a.Reason, a.Capacities[0])
		}
	}
	f("at once", find.Failed, func(int) bool { return true })
	f("later", find.Failed, func(loads int) bool { return loads > 1 })
	f("for one load", find.Complete, func(loads int) bool { return loads == 1 })
}

// So it is when the probe ends before the server counts as down: too many requests failed, and the light load that follows tells why.
// Few requests may fail in that time, because a client waits longer and longer between its attempts to connect.
func TestFailuresAreChecked(t *testing.T) {
	f := func(name string, want find.State, objective string, check func(step find.Step) find.Observation) {
		t.Helper()
		c := config(t, objective)
		c.Lowest, c.Highest, c.Start = 100, 100, 100
		s := newSearch(t, c)
		step := s.Step()
		for step.Do == find.Run {
			step = s.Observe(find.Observation{Elapsed: step.At, Requests: 1000, Failures: 100, Readings: []find.Reading{{Value: 1000, Unit: "ms"}}})
		}
		if step.Do != find.Drain {
			t.Fatalf("%s: %+v", name, step)
		}
		if step = s.Observe(find.Observation{Elapsed: step.At}); step.Do != find.Check {
			t.Fatalf("%s: %+v", name, step)
		}
		for step.Do == find.Check {
			o := check(step)
			o.Elapsed = step.At
			step = s.Observe(o)
		}
		if a := s.Answer(); a.State != want {
			t.Errorf("%s: %s %q", name, a.State, a.Reason)
		}
	}
	down := func(find.Step) find.Observation { return find.Observation{Failures: 9, Down: "connection refused"} }
	f("down", find.Failed, "avg<300ms", down)
	f("down, objective about failures", find.Failed, "error_rate<5%", down)
	f("down after the time of the check", find.Failed, "avg<300ms", func(step find.Step) find.Observation {
		if step.At > step.Limit {
			return find.Observation{Failures: 3, Down: "connection refused"}
		}
		return find.Observation{Failures: 2}
	})
	f("no request succeeds", find.Failed, "avg<300ms", func(find.Step) find.Observation { return find.Observation{Failures: 2} })
	f("slow", find.Searching, "avg<300ms", func(step find.Step) find.Observation {
		if step.At > step.Limit {
			return find.Observation{Requests: 1, Readings: []find.Reading{{Value: 1, Unit: "ms"}}}
		}
		return find.Observation{}
	})
}

func TestBudget(t *testing.T) {
	conf := config(t, "avg<300ms")
	conf.Budget = 20 * time.Second
	s := newSearch(t, conf)
	if err := s.Run(t.Context(), &script{latency: linear}, nil); err != nil {
		t.Fatal(err)
	}
	if a := s.Answer(); a.State != find.OutOfTime || !strings.Contains(a.Reason, "20s") || a.Capacities[0].Outcome != find.Open || a.Capacities[0].Interval.Low == 0 {
		t.Errorf("%s %q %+v", a.State, a.Reason, a.Capacities[0])
	}
}

// A load that is far too high is cut before it settles: its backlog alone shows that no latency objective can hold.
func TestFarTooHighLoadIsCutAtOnce(t *testing.T) {
	m := model{latency: linear, change: func(o *find.Observation, step find.Step) {
		if step.Do == find.Run && step.Load > 1000 {
			o.Backlog = int((step.Load - 1000) * step.At.Seconds() * 10)
		}
	}}
	conf := config(t, "avg<100ms")
	conf.Start = 5000
	a, _ := play(newSearch(t, conf), m.observe)
	if p := a.Probes[0]; p.End != find.Overload || p.Last.Elapsed > time.Second {
		t.Errorf("%s after %v", p.End, p.Last.Elapsed)
	}
	if c := a.Capacities[0]; !near(c.Value, 100) {
		t.Errorf("%+v", c)
	}
}

// A confirmation goes on until it has the requests that a scenario wants. Those of the time in which it settles do not count.
func TestConfirmationByCount(t *testing.T) {
	conf := config(t, "avg<300ms")
	conf.Confirm, conf.ConfirmRequests = 10*time.Second, 100_000
	m := model{latency: linear} // 1000 requests/s
	a, _ := play(newSearch(t, conf), m.observe)
	last := a.Probes[len(a.Probes)-1]
	if last.Purpose != find.Confirm || last.Last.Requests < 102_000 || !a.Capacities[0].Confirmed {
		t.Errorf("%+v", last)
	}
}

// A server whose requests only fail is down, also where the engine goes on.
func TestServerThatOnlyFails(t *testing.T) {
	r := &failing{script: script{latency: linear}}
	s := newSearch(t, config(t, "avg<300ms"))
	if err := s.Run(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if a := s.Answer(); a.State != find.Failed || !strings.Contains(a.Reason, "no request succeeded for") || !strings.Contains(a.Reason, "connection refused") {
		t.Errorf("%s %q", a.State, a.Reason)
	}
}

// failing is a server that dies in its third load.
type failing struct{ script }

func (f *failing) Run(ctx context.Context, load float64, look measure.Look, watch measure.Watch) error {
	return f.script.Run(ctx, load, look, func(s measure.Sight) (measure.Look, bool) {
		if len(f.loads) > 2 {
			s.Failures, s.Requests = s.Requests, 0
			compute := s.Level
			s.Level = func(confidence float64) (*result.Level, []result.Reason) {
				lv, _ := compute(confidence)
				lv.Failures = []result.Failure{{Text: "connection refused"}}
				return lv, nil
			}
		}
		return watch(s)
	})
}
