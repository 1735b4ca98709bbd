package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/testkit"
)

var think = pace.ThinkTime{Mean: 30 * time.Millisecond, Spread: 10 * time.Millisecond}

// thoughtful opens an engine whose slots think, on a server that answers after 2 ms.
func thoughtful(t *testing.T, seed uint64) (*testEngine, *testkit.Service) {
	t.Helper()
	svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 2 * time.Millisecond, nil }}
	return open(t, svc, engine.Config{ThinkTime: think, Seed: seed}), svc
}

// waits lists, for each slot, the times between the end of a request and the send of the next.
func waits(rs []record.Record) map[int][]time.Duration {
	slices.SortFunc(rs, func(a, b record.Record) int { return int(a.Sent - b.Sent) })
	last := map[int]int64{}
	out := map[int][]time.Duration{}
	for _, r := range rs {
		slot := int(r.Slot)
		if end, ok := last[slot]; ok {
			out[slot] = append(out[slot], time.Duration(r.Sent-end))
		}
		last[slot] = r.End
	}
	return out
}

// A slot waits for its think time after each request, and no latency holds it. The same seed gives the same waits, also
// after a warm-up.
func TestASlotThinksBetweenRequests(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		const slots, seed = 3, 7
		e, svc := thoughtful(t, seed)
		start(t, e, &engine.Closed{Concurrency: slots, Limit: 20}) // a warm-up
		finished(t, e)
		records(e)
		e.Restart()
		start(t, e, &engine.Closed{Concurrency: slots, Limit: 90})
		finished(t, e)
		rs := records(e)
		if len(rs) != 90 || svc.MostInFlight() > slots {
			t.Fatalf("%d requests, %d in flight at once", len(rs), svc.MostInFlight())
		}
		for slot, got := range waits(rs) {
			draw := think.Slot(seed, slot)
			for i, d := range got {
				if want := draw(); d != want {
					t.Errorf("slot %d waited %s before request %d, want %s", slot, d, i+1, want)
				}
			}
		}
		for _, r := range rs {
			if r.Due != r.Sent || r.End-r.Sent != int64(2*time.Millisecond) {
				t.Fatalf("%+v", r)
			}
		}
	})
}

// The last request of a load is not followed by a think time, a stop ends think times, and a new level does not wait for them.
func TestThinkTimesEndWithTheLoad(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		e, svc := thoughtful(t, 1)
		begun := time.Now()
		start(t, e, &engine.Closed{Concurrency: 1, Limit: 1})
		finished(t, e)
		if d := time.Since(begun); d > think.Mean-think.Spread {
			t.Errorf("one request took %s", d)
		}
		for _, n := range []int{4, 2, 6} {
			start(t, e, &engine.Closed{Concurrency: n})
			time.Sleep(time.Second)
		}
		if most := svc.MostInFlight(); most > 6 {
			t.Errorf("%d in flight", most)
		}
		for e.InFlight() > 0 {
			time.Sleep(time.Millisecond)
		}
		sent, before := svc.Sent(), time.Now()
		e.Stop()
		if err := e.Wait(t.Context()); err != nil || svc.Sent() != sent || time.Since(before) > time.Millisecond {
			t.Errorf("%v, %d requests and %s after the stop", err, svc.Sent()-sent, time.Since(before))
		}
	})
}

// A sequence that is open when the load is stopped is ended, also where its slot thinks.
func TestAStopEndsTheSequenceOfASlotThatThinks(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		ledger := &testkit.Ledger{}
		var closings int
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, nil }, Ended: func(r record.Record) {
			if r.Flags&record.Closing != 0 {
				closings++
			}
		}}
		e := open(t, svc, engine.Config{
			ThinkTime: pace.ThinkTime{Mean: time.Hour}, Source: func(int, int) engine.Source { return ledger.Sequences(10) },
		})
		start(t, e, &engine.Closed{Concurrency: 1})
		time.Sleep(time.Second)
		e.Stop()
		if err := e.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if svc.Sent() != 2 || closings != 1 {
			t.Errorf("%d requests, %d of them end a sequence", svc.Sent(), closings)
		}
	})
}
