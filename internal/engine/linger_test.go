package engine_test

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// rests lists the times between an answer and the next request of its slot.
func rests(rs []record.Record) []time.Duration {
	last := map[uint32]int64{}
	var out []time.Duration
	for _, r := range rs {
		if end := last[r.Slot]; end != 0 {
			out = append(out, time.Duration(r.Sent-end))
		}
		last[r.Slot] = r.End
	}
	return out
}

// marked names its slot in the records.
type marked struct{}

func (marked) Next(c *service.Call) { c.Req, c.Rec.Slot = uint32(0), uint32(c.Slot) }

func lingered(t *testing.T, answer time.Duration, slots, limit int) (all []time.Duration, e *engine.Engine, svc *testkit.Service) {
	t.Helper()
	svc = &testkit.Service{Answer: func(int64) (time.Duration, error) { return answer, nil }}
	e, err := engine.Open(t.Context(), engine.Config{Service: svc, Feed: func(int, int) engine.Feed { return marked{} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	e.TurnAround(t.Context(), turnAround)
	if err := e.Closed(t.Context(), slots, limit); err != nil {
		t.Fatal(err)
	}
	finished(t, e)
	return rests(records(e)), e, svc
}

const turnAround = 20 * time.Microsecond

func TestASlowAnswerIsFollowedAfterTheTurnAround(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		all, _, svc := lingered(t, 2*time.Millisecond, 3, 60)
		if len(all) != 57 || svc.Sent() != 60 {
			t.Fatalf("%d turns of %d requests", len(all), svc.Sent())
		}
		for _, d := range all {
			if d != turnAround {
				t.Errorf("the next request went %v after the answer", d)
			}
		}
		if most := svc.MostInFlight(); most > 3 {
			t.Errorf("%d in flight, asked for 3", most)
		}
	})
}

func TestAFastAnswerIsFollowedAtOnce(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		all, e, _ := lingered(t, 0, 1, 200)
		for _, d := range all {
			if d != 0 {
				t.Errorf("the next request went %v after the answer", d)
			}
		}
		e.TurnAround(t.Context(), 0)
	})
}

// More slots than may linger at once: the others go on without, and none is lost.
func TestManySlotsLinger(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		all, _, svc := lingered(t, 3*time.Millisecond, 200, 2000)
		turns := map[time.Duration]int{}
		for _, d := range all {
			turns[d]++
		}
		if svc.Sent() != 2000 || turns[0] == 0 || turns[turnAround] == 0 || turns[0]+turns[turnAround] != 1800 {
			t.Errorf("%d requests, turns %v", svc.Sent(), turns)
		}
	})
}

// The load is stopped and changed while slots linger.
func TestLingerersRest(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 2 * time.Millisecond, nil }}
		e := open(t, svc, engine.Config{})
		e.TurnAround(t.Context(), turnAround)
		for _, n := range []int{4, 2, 6} {
			if err := e.Closed(t.Context(), n, 0); err != nil {
				t.Fatal(err)
			}
			sent := svc.Sent()
			time.Sleep(50 * time.Millisecond)
			if n := svc.Sent() - sent; n < 20 {
				t.Errorf("only %d requests of 2 ms in 50 ms", n)
			}
		}
		e.Stop()
		finished(t, e)
		if most := svc.MostInFlight(); most > 6 {
			t.Errorf("%d in flight", most)
		}
		sent := svc.Sent()
		if err := e.Closed(t.Context(), 1, 5); err != nil {
			t.Fatal(err)
		}
		finished(t, e)
		if svc.Sent() != sent+5 {
			t.Errorf("%d after the stop, want 5", svc.Sent()-sent)
		}
	})
}
