package calibration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// paced is a level of a closed loop whose requests took so long.
func paced(concurrency int, latency time.Duration) *result.Level {
	lv := &result.Level{Concurrency: concurrency}
	lv.Client.Sent.Avg, lv.Client.DurationNs = float64(latency), int64(time.Second)
	lv.Client.Requests = uint64(float64(concurrency) / latency.Seconds())
	return lv
}

func TestTheServerHoldsAnswersAsLongAsTheRunsServerTook(t *testing.T) {
	f := func(lv *result.Level, want time.Duration) {
		t.Helper()
		if got := holdFor(lv); got != want {
			t.Errorf("concurrency %d, rate %v: %v, want %v", lv.Concurrency, lv.Rate, got, want)
		}
	}
	f(paced(1, 3*time.Millisecond), 3*time.Millisecond)
	f(paced(64, 150*time.Millisecond), 150*time.Millisecond)
	// Some 50 requests a second must be answered, and the calibration must end soon.
	f(paced(1, 90*time.Millisecond), 20*time.Millisecond)
	f(paced(512, 8*time.Second), longestHold)
	open := &result.Level{Rate: 10}
	open.Client.Latency.Avg, open.Client.Sent.Avg = float64(time.Second), float64(80*time.Millisecond)
	f(open, 80*time.Millisecond)
	schedule := &result.Level{Mode: plan.FixedSchedule, Client: open.Client}
	f(schedule, 80*time.Millisecond)
	sessions := paced(8, 90*time.Millisecond)
	sessions.Mode = plan.SessionConcurrency
	f(sessions, 90*time.Millisecond)
}

func TestTheHoldIsShortenedWhereTheCalibrationIsTooSlow(t *testing.T) {
	f := func(lv *result.Level, reached float64, want time.Duration) {
		t.Helper()
		if got := shorterHold(time.Millisecond, reached, lv); got != want {
			t.Errorf("%v requests/s reached: %v, want %v", reached, got, want)
		}
	}
	lv := paced(4, time.Millisecond) // 4,000 a second
	f(lv, 4000, time.Millisecond)
	f(lv, 2700, time.Millisecond)
	f(lv, 2500, 400*time.Microsecond) // 1.6 ms a request, 0.6 too many
	f(lv, 1000, 0)
	f(lv, 0, time.Millisecond)
	f(&result.Level{Rate: 4000}, 2000, time.Millisecond)
	f(&result.Level{Mode: plan.FixedSchedule, Client: lv.Client}, 2000, time.Millisecond)
	periodic := *lv
	periodic.Mode = plan.PeriodicConcurrency
	f(&periodic, 2000, time.Millisecond)
}

// The traffic of two loads is told apart by how their requests follow one another.
func TestEachKindOfLoadIsATrafficOfItsOwn(t *testing.T) {
	f := func(load plan.Load, want string) {
		t.Helper()
		p := &plan.Plan{Target: plan.Target{Kind: plan.Triton, Protocol: plan.GRPC}, Load: load}
		if got := trafficOf(p, &result.Level{Mode: load.Mode}).Mode; got != want {
			t.Errorf("%s: %q, want %q", load.Mode, got, want)
		}
	}
	f(plan.Load{Mode: plan.Concurrency}, "unary")
	f(plan.Load{Mode: plan.RequestRate}, "unary")
	f(plan.Load{Mode: plan.RequestRate, Distribution: plan.Poisson}, "unary poisson")
	f(plan.Load{Mode: plan.CustomIntervals}, "unary intervals")
	f(plan.Load{Mode: plan.FixedSchedule}, "unary schedule")
	f(plan.Load{Mode: plan.SessionConcurrency}, "unary sessions")
	f(plan.Load{Mode: plan.PeriodicConcurrency}, "unary periodic")
}

// A stand-in answers as often, and with as many bytes, as the run's own server did.
func TestTheStandInOfALevel(t *testing.T) {
	lv := &result.Level{Client: result.Client{Requests: 4, Responses: 12}}
	model := &service.Model{Name: "m", Outputs: []service.TensorSpec{{Name: "A", Type: tensor.FP32, Shape: tensor.Shape{-1}}}}
	s := &traffic.Traffic{Plan: &plan.Plan{Target: plan.Target{Kind: plan.Triton}}, Model: model}
	if m := standIn(s, lv, 300); m.Responses != 3 || m.Answer[0].Shape.Elements() != 25 {
		t.Errorf("%d responses of %v, want 3 of 25 numbers", m.Responses, m.Answer[0].Shape)
	}
	s.Plan.Target.Kind = plan.DynamicGRPC
	if m := standIn(s, lv, 300); m.MethodBytes != 300 || m.Spec != nil {
		t.Errorf("a method answers %d bytes, want 300", m.MethodBytes)
	}
	if m := standIn(s, lv, -3); m.MethodBytes != 1 {
		t.Errorf("a method answers %d bytes, want 1: 0 would refuse it", m.MethodBytes)
	}
}

// talk is a session with pauses of a second.
type talk struct{ engine.Listener }

func (talk) Pause() (time.Duration, bool) { return time.Second, true }

func (talk) Next(*service.Call) {}

func TestTheSourcesOfACalibration(t *testing.T) {
	c := &paceRun{pauses: 0.25}
	session := c.source(func(int, int) engine.Source { return talk{} })(0, 1)
	if wait, ok := session.(engine.Listener).Pause(); wait != 250*time.Millisecond || !ok {
		t.Errorf("a pause of %v, %t", wait, ok)
	}
	plain := c.source(func(int, int) engine.Source { return plainSource{} })(0, 1)
	call := &service.Call{}
	if plain.Next(call); !call.Vars.HasID || call.Rec.SeqID != call.Vars.ID {
		t.Errorf("a request without an id: %+v", call.Vars)
	}
	late := []time.Duration{5 * time.Second, 6 * time.Second, 60 * time.Second, 61 * time.Second}
	if d := cmp.Diff([]time.Duration{0, time.Second, 0, time.Second}, fromZero(late, 2)); d != "" || late[0] != 5*time.Second {
		t.Errorf("a schedule that begins late: %s", d)
	}
	if d := cmp.Diff([]time.Duration{0, time.Second}, fromZero(late[2:], 0)); d != "" || len(fromZero(nil, 1)) != 0 {
		t.Error(d)
	}
}

type plainSource struct{}

func (plainSource) Next(*service.Call) {}

// A periodic load has no level of its own: the requests that go to its export make one.
func TestAPeriodicLoadIsWatched(t *testing.T) {
	p := &plan.Plan{Load: plan.Load{Mode: plan.PeriodicConcurrency, Periodic: plan.IntRange{Start: 1, End: 3, Step: 1}}}
	c := &paceRun{plan: p, seen: map[string][]calibrate.Exchange{}}
	exporter, watch := Watched(p, keeper{c})
	if err := exporter.Begin(plan.PeriodicConcurrency, 1, 0); err != nil {
		t.Fatal(err)
	}
	now := clock.Now()
	for i := range 3 {
		r := &record.Record{Slot: uint32(i), Due: now, Sent: now, First: now + 1e6, End: now + 20e6, Responses: 2, In: 64, Out: 32}
		if err := exporter.Request(r, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := exporter.End(nil); err != nil {
		t.Fatal(err)
	}
	lv := &watch.Levels(&result.Result{})[0]
	if n := len(c.seen[levelKey(lv)]); n != 3 || lv.Client.Requests != 3 || lv.Client.Responses != 6 || holdFor(lv) != 20*time.Millisecond {
		t.Errorf("%d requests are kept, the level is %+v", n, lv.Client)
	}
	if other, none := Watched(&plan.Plan{}, keeper{c}); other != profile.Exporter(keeper{c}) || none != nil || len(none.Levels(&result.Result{Levels: []result.Level{*lv}})) != 1 {
		t.Error("a load with levels is watched")
	}
}
