package profile_test

import (
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// sends notes when each exported request was sent.
type sends struct {
	exports
	at []int64
}

func (s *sends) Request(r *record.Record, events []record.Event, data []byte) error {
	s.at = append(s.at, r.Sent)
	return s.exports.Request(r, events, data)
}

// Each request of a schedule goes out at its own time, after those of the warm-up.
func TestFixedScheduleKeepsItsTimes(t *testing.T) {
	p := perfPlan()
	p.Load.Mode = plan.FixedSchedule
	p.Measure.RequestCount, p.Measure.WarmupCount, p.Measure.Window = 4, 2, plan.CountWindows
	ms := time.Millisecond
	times := []time.Duration{0, 10 * ms, 20 * ms, 60 * ms, 60 * ms, 140 * ms}
	x := &sends{}
	svc := pinned(5 * ms)
	res, j, err := runPlan(t, p, svc, func(r *profile.Runner) { r.Times, r.Exporter, r.Async = times, x, true })
	if err != nil {
		t.Fatal(err)
	}
	lv := res.Levels[0]
	if svc.Sent() != 6 || lv.Client.Requests != 4 || !lv.Accepted || len(j.begun) != 0 || len(x.at) != 4 {
		t.Fatalf("%d sent, %d counted, headers %v, exported %d", svc.Sent(), lv.Client.Requests, j.begun, len(x.at))
	}
	if span := x.at[3] - x.at[0]; span != int64(120*ms) {
		t.Errorf("120 ms of schedule took %s", time.Duration(span))
	}
	if len(x.boundaries) != 2 {
		t.Errorf("windows %v", x.boundaries)
	}
}

// talk says so many things, with pauses, and may refuse an answer.
type talk struct {
	left   int
	refuse bool
	total  *atomic.Int64
}

var errRefused = errors.New("refused")

func (k *talk) Next(c *service.Call) {
	k.left--
	k.total.Add(1)
	c.Req = uint32(0)
}

func (k *talk) Heard(*service.Call, []record.Event, []byte) error {
	if k.refuse {
		return errRefused
	}
	return nil
}

func (k *talk) Pause() (time.Duration, bool) { return time.Millisecond, k.left > 0 }

func TestSessionsRunToTheirEnd(t *testing.T) {
	p := perfPlan()
	p.Load.Mode, p.Load.Sessions = plan.SessionConcurrency, 3
	p.Measure.Interval = time.Millisecond // windows do not matter
	x := &exports{}
	var total atomic.Int64
	res, j, err := runPlan(t, p, pinned(time.Millisecond), func(r *profile.Runner) {
		r.Exporter = x
		r.Source = func(slot, _ int) engine.Source { return &talk{left: 2 + slot, total: &total} }
	})
	if err != nil {
		t.Fatal(err)
	}
	if total.Load() != 9 || x.requests != 9 || res.Levels[0].Client.Requests != 9 || len(j.begun) != 0 {
		t.Errorf("%d said, %d exported, level %+v", total.Load(), x.requests, res.Levels[0].Client.Requests)
	}
	if d := cmp.Diff(x.boundaries, []int64{0, math.MaxInt64}); d != "" {
		t.Error(d)
	}
}

func TestARefusedAnswerEndsPerfAnalyzerMode(t *testing.T) {
	p := perfPlan()
	p.Load.Mode, p.Load.Sessions = plan.SessionConcurrency, 1
	var total atomic.Int64
	_, _, err := runPlan(t, p, pinned(time.Millisecond), func(r *profile.Runner) {
		r.Source = func(int, int) engine.Source { return &talk{left: 5, refuse: true, total: &total} }
	})
	var load *profile.LoadError
	if !errors.As(err, &load) || len(load.Workers) != 1 || !errors.Is(load.Workers[0].Err, errRefused) || total.Load() != 1 {
		t.Errorf("%v after %d", err, total.Load())
	}
}
