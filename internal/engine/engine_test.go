package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

func open(t *testing.T, svc *testkit.Service, cfg engine.Config) *engine.Engine {
	t.Helper()
	cfg.Service = svc
	cfg.Feed = func(int, int) engine.Feed { return testkit.Feed{} }
	e, err := engine.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func records(e *engine.Engine) []record.Record {
	var out []record.Record
	e.Drain(func(r *record.Record, _ []record.Event, _ []byte) { out = append(out, *r) })
	return out
}

func finished(t *testing.T, e *engine.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := e.Finished(ctx); err != nil {
		t.Fatal("the load did not end")
	}
}

func TestClosedLoopSendsExactlyTheLimitAndKeepsEachRecord(t *testing.T) {
	svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, nil }}
	e := open(t, svc, engine.Config{})
	if err := e.Closed(t.Context(), 7, 500); err != nil {
		t.Fatal(err)
	}
	finished(t, e)
	slots := map[uint32]bool{}
	list := records(e)
	for _, r := range list {
		slots[r.Slot] = true
	}
	if n := len(list); n != 500 || svc.Sent() != 500 || len(slots) != 7 {
		t.Errorf("%d records of %d requests on %d slots, want 500 on 7", n, svc.Sent(), len(slots))
	}
	if most := svc.MostInFlight(); most > 7 {
		t.Errorf("%d in flight, asked for 7", most)
	}
}

func TestClosedLoopFollowsAChangeOfLevel(t *testing.T) {
	gate := make(chan struct{})
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) { <-gate; return 0, nil }}
	e := open(t, svc, engine.Config{})
	for _, n := range []int{2, 5} {
		if err := e.Closed(t.Context(), n, 0); err != nil {
			t.Fatal(err)
		}
		if got := e.InFlight(); got != n {
			t.Errorf("%d in flight after Closed(%d)", got, n)
		}
	}
	if err := e.Closed(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
	for range 20 { // each of the five may end once; then only slot 0 goes on
		gate <- struct{}{}
	}
	for e.InFlight() > 1 {
		gate <- struct{}{}
	}
	e.Stop()
	close(gate)
	finished(t, e)
}

func TestFirstFailureRestsItsSlotAndCallsTheEnd(t *testing.T) {
	boom := errors.New("boom")
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n == 10 {
			return 0, boom
		}
		return 0, nil
	}}
	e := open(t, svc, engine.Config{StopOnFailure: true})
	if err := e.Closed(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
	<-e.Failed()
	finished(t, e)
	if svc.Sent() != 11 {
		t.Errorf("%d requests were sent, want 11", svc.Sent())
	}
	if got := e.SlotErrors(); len(got) != 1 || !errors.Is(got[0].Err, boom) || got[0].Slot != 0 {
		t.Errorf("slot errors %v", got)
	}
}

func TestFailuresAreCountedAndOnlyAnUnbrokenRunOfThemStopsTheLoad(t *testing.T) {
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n%2 == 0 || n > 1000 {
			return 0, fmt.Errorf("boom %d", n)
		}
		return 0, nil
	}}
	e := open(t, svc, engine.Config{})
	if err := e.Closed(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
	<-e.Failed()
	finished(t, e)
	f := e.Failures()
	if len(f) != 1 || f[0].Count < 500+engine.GiveUpAfter-2 || f[0].Class != record.Server {
		t.Errorf("failures %+v", f)
	}
	ok := 0
	for _, r := range records(e) {
		if r.Class == record.OK {
			ok++
		}
	}
	if ok != 500 {
		t.Errorf("%d good records, want 500", ok)
	}
}

func TestPacedLoadSendsAtDueTimes(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, nil }}
		e := open(t, svc, engine.Config{})
		stop, err := e.Paced(t.Context(), engine.PacedLoad{Schedule: pace.Constant(2000), Feeds: 4, Slots: 8, Cap: 64, Limit: 400})
		if err != nil {
			t.Fatal(err)
		}
		finished(t, e)
		stop()
		got := records(e)
		if len(got) != 400 {
			t.Fatalf("%d records, want 400", len(got))
		}
		for _, r := range got {
			if r.Sent != r.Due || r.Flags&record.Delayed != 0 {
				t.Fatalf("sent %d ns after it was due, flags %v", r.Lag(), r.Flags)
			}
		}
	})
}

// With one slot and a slow server the schedule cannot be kept: every request is still sent, and the wait shows.
func TestPacedLoadBehindItsScheduleShowsTheWait(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		const wait = 20 * time.Millisecond
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return wait, nil }}
		e := open(t, svc, engine.Config{})
		stop, err := e.Paced(t.Context(), engine.PacedLoad{Schedule: pace.Constant(1000), Feeds: 1, Slots: 1, Cap: 1, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		finished(t, e)
		stop()
		got := records(e)
		if len(got) != 10 || svc.MostInFlight() != 1 {
			t.Fatalf("%d records, %d in flight", len(got), svc.MostInFlight())
		}
		last := got[len(got)-1]
		if lag := time.Duration(last.Lag()); lag != 9*(wait-time.Millisecond) || last.Flags&record.Delayed == 0 {
			t.Errorf("the tenth request waited %s behind nine of %s, flags %v", lag, wait, last.Flags)
		}
		if behind := 9*wait - time.Millisecond; e.Behind() != behind { // from when the second was due until the last was sent
			t.Errorf("behind for %s, want %s", e.Behind(), behind)
		}
	})
}

// A load that is stopped while it is behind tells how many requests were due and never sent.
func TestStoppedLoadCountsWhatItDropped(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		f := func(limit int, want uint64) {
			t.Helper()
			svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 300 * time.Millisecond, nil }}
			e := open(t, svc, engine.Config{})
			stop, err := e.Paced(t.Context(), engine.PacedLoad{Schedule: pace.Constant(1000), Feeds: 1, Slots: 1, Cap: 1, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(21 * time.Millisecond) // the first was sent after 1 ms and is not answered yet
			synctest.Wait()
			stop()
			if n := e.Dropped(); n != want {
				t.Errorf("limit %d: dropped %d, want %d", limit, n, want)
			}
		}
		f(0, 19) // those due after 2 to 20 ms; the last millisecond is no delay yet
		f(5, 4)  // no more than there were
	})
}

// A load with a rate that cannot be sent stops at once: dropped requests are estimated, not counted one by one.
func TestAnImpossibleRateEndsAtOnce(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return time.Second, nil }}
		e := open(t, svc, engine.Config{})
		stop, err := e.Paced(t.Context(), engine.PacedLoad{Schedule: pace.Constant(1e11), Feeds: 1, Slots: 1, Cap: 1})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(101 * time.Millisecond)
		synctest.Wait()
		stop()
		if n := float64(e.Dropped()); n < 0.99e10 || n > 1.01e10 {
			t.Errorf("dropped %g, want 1e10 of 0.1 s", n)
		}
	})
}

// When every thread has failed the load is over, also where feeds wait for each other; and after Forgive there may be
// another one.
func TestPacedLoadEndsWithItsLastThread(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
			if n < 3 {
				return 0, errors.New("boom")
			}
			return 0, nil
		}}
		e := open(t, svc, engine.Config{StopOnFailure: true})
		for round, limit := range []int{100, 5} {
			stop, err := e.Paced(t.Context(), engine.PacedLoad{Schedule: pace.Constant(2000), Feeds: 3, Turn: engine.Serial, Slots: 16, Cap: 16, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			finished(t, e)
			stop()
			if got := len(e.SlotErrors()); got != 3*(1-round) {
				t.Errorf("round %d: %d failures", round, got)
			}
			e.Forgive()
		}
		if svc.Sent() != 8 {
			t.Errorf("%d requests were sent, want 3 that fail and 5 more", svc.Sent())
		}
	})
}

// A failed request ends its thread alone: the others show their own failures, under the thread's number.
func TestPacedLoadFailsThreadByThread(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, errors.New("boom") }}
		e := open(t, svc, engine.Config{StopOnFailure: true})
		stop, err := e.Paced(t.Context(), engine.PacedLoad{Schedule: pace.Constant(200), Feeds: 6, Threads: 4, Slots: 16, Cap: 16})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		for e.Working() {
			time.Sleep(time.Millisecond)
		}
		if n := svc.Sent(); n != 4 {
			t.Errorf("%d requests were sent, want one a thread", n)
		}
		failed := e.SlotErrors()
		for i, f := range failed {
			if f.Slot != i {
				t.Errorf("failure %d is of thread %d", i, f.Slot)
			}
		}
		if len(failed) != 4 {
			t.Errorf("%d failures, want one a thread", len(failed))
		}
	})
}

// Twice as many due as the first slots can hold: the engine makes more.
func TestPacedLoadGrows(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 100 * time.Millisecond, nil }}
		e := open(t, svc, engine.Config{})
		stop, err := e.Paced(t.Context(), engine.PacedLoad{Schedule: pace.Constant(1000), Feeds: 4, Slots: 4, Cap: 1000, Limit: 200})
		if err != nil {
			t.Fatal(err)
		}
		finished(t, e)
		stop()
		if most := svc.MostInFlight(); most < 100 { // 1000 a second of 100 ms each
			t.Errorf("never more than %d in flight", most)
		}
	})
}

func TestDeadlineEndsAHungRequest(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 300 * time.Millisecond, nil }}
		e := open(t, svc, engine.Config{Timeout: 30 * time.Millisecond, StopOnFailure: true})
		if err := e.Closed(t.Context(), 3, 0); err != nil {
			t.Fatal(err)
		}
		<-e.Failed()
		finished(t, e)
		for _, r := range records(e) {
			if r.Class != record.Timeout || r.Latency() < int64(30*time.Millisecond) {
				t.Errorf("class %s after %s", r.Class, time.Duration(r.Latency()))
			}
		}
	})
}

func TestWaitCutsWhatDoesNotEnd(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 300 * time.Millisecond, nil }}
		e := open(t, svc, engine.Config{})
		if err := e.Closed(t.Context(), 3, 0); err != nil {
			t.Fatal(err)
		}
		e.Stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := e.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait: %v", err)
		}
		for _, r := range records(e) {
			if r.Class != record.Canceled {
				t.Errorf("class %s", r.Class)
			}
		}
		if e.InFlight() != 0 || len(e.Failures()) != 0 {
			t.Errorf("%d in flight, failures %v", e.InFlight(), e.Failures())
		}
	})
}

// sequences is a feed whose requests come in threes.
type sequences struct {
	left   int
	closed atomic.Int64
}

func (s *sequences) Next(c *service.Call) {
	if s.left == 0 {
		s.left = 3
	}
	s.left--
}

func (s *sequences) Close(c *service.Call) bool {
	if s.left == 0 {
		return false
	}
	s.left = 0
	s.closed.Add(1)
	return true
}

func TestOpenSequencesAreEndedByOneMoreRequest(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		for _, paced := range []bool{false, true} {
			svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, nil }}
			var mu sync.Mutex
			feeds := map[int]*sequences{}
			e, err := engine.Open(t.Context(), engine.Config{Service: svc, Feed: func(slot, _ int) engine.Feed {
				mu.Lock()
				defer mu.Unlock()
				feeds[slot] = &sequences{}
				return feeds[slot]
			}})
			if err != nil {
				t.Fatal(err)
			}
			// Four feeds, ten requests: two feeds send three (nothing open), two send two (one open each), by turns.
			if paced {
				stop, err := e.Paced(t.Context(), engine.PacedLoad{Schedule: pace.Constant(5000), Feeds: 4, Slots: 4, Cap: 4, Limit: 10})
				if err != nil {
					t.Fatal(err)
				}
				finished(t, e)
				stop()
			} else if err := e.Closed(t.Context(), 4, 10); err != nil {
				t.Fatal(err)
			}
			finished(t, e)
			closing, open := 0, 0
			for _, r := range records(e) {
				if r.Flags&record.Closing != 0 {
					closing++
				}
			}
			for _, f := range feeds {
				open += f.left
			}
			if n := int(svc.Sent()); n != 10+closing || open != 0 {
				t.Errorf("paced %v: %d sent, %d of them closing, %d left open", paced, n, closing, open)
			}
			if paced && closing != 2 {
				t.Errorf("%d closing requests, want 2", closing)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A serial load never has two requests of one feed in flight.
func TestSerialTurnsKeepOneInFlightAFeed(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 5 * time.Millisecond, nil }}
		e := open(t, svc, engine.Config{})
		stop, err := e.Paced(t.Context(), engine.PacedLoad{
			Schedule: pace.Constant(5000), Feeds: 3, Slots: 16, Cap: 64, Limit: 30, Turn: engine.Serial,
		})
		if err != nil {
			t.Fatal(err)
		}
		finished(t, e)
		stop()
		if most := svc.MostInFlight(); most > 3 {
			t.Errorf("%d in flight with three feeds", most)
		}
	})
}

func TestPeriodicLoadEndsAtAFailure(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
			if n == 3 {
				return 0, errors.New("boom")
			}
			return time.Millisecond, nil
		}}
		e := open(t, svc, engine.Config{StopOnFailure: true})
		if err := e.Periodic(t.Context(), engine.PeriodicLoad{Start: 1, End: 7, Step: 1, Period: 1}); err != nil {
			t.Fatal(err)
		}
		if n := len(e.SlotErrors()); n != 1 || svc.Sent() != 4 {
			t.Errorf("%d failures, %d requests", n, svc.Sent())
		}
	})
}

func TestPeriodicLoadRaisesTheLoadStepByStep(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return time.Millisecond, nil }}
		e := open(t, svc, engine.Config{})
		if err := e.Periodic(t.Context(), engine.PeriodicLoad{Start: 2, End: 7, Step: 2, Period: 1}); err != nil {
			t.Fatal(err)
		}
		if n := len(records(e)); n != 7 || svc.Sent() != 7 {
			t.Errorf("%d records of %d requests, want exactly 7", n, svc.Sent())
		}
		if err := e.Periodic(t.Context(), engine.PeriodicLoad{Start: 1, End: 2, Step: 1, Period: 2}); !errors.Is(err, engine.ErrEarlyEnd) {
			t.Errorf("one response where two were asked for: %v", err)
		}
	})
}
