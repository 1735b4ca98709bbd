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

// testEngine is an engine that keeps its records for the test.
type testEngine struct {
	*engine.Engine
	got []record.Record
}

// open opens an engine until the end of the test. Its requests are all the same if cfg has no source.
func open(t testing.TB, svc service.Service, cfg engine.Config) *testEngine {
	t.Helper()
	e := &testEngine{}
	cfg.Service = svc
	cfg.Collect = func(r *record.Record, _ []record.Event, _ []byte) { e.got = append(e.got, *r) }
	if cfg.Source == nil {
		cfg.Source = func(int, int) engine.Source { return testkit.Source{} }
	}
	var err error
	if e.Engine, err = engine.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// records are the records since the last call.
func records(e *testEngine) (out []record.Record) {
	e.Sync(func() { out, e.got = e.got, nil })
	return out
}

func start(t testing.TB, e *testEngine, l engine.Loop) {
	t.Helper()
	if err := e.Start(t.Context(), l); err != nil {
		t.Fatal(err)
	}
}

func finished(t *testing.T, e *testEngine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	defer cancel()
	if err := e.Finished(ctx); err != nil {
		t.Fatal("the load did not end")
	}
}

func TestClosedLoopSendsExactlyTheLimitAndKeepsEachRecord(t *testing.T) {
	var first sync.WaitGroup // the first request of each slot is answered when all have been sent
	first.Add(7)
	svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
		if n < 7 {
			first.Done()
			first.Wait()
		}
		return 0, nil
	}}
	e := open(t, svc, engine.Config{})
	start(t, e, &engine.Closed{Concurrency: 7, Limit: 500})
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
		start(t, e, &engine.Closed{Concurrency: n})
		if got := e.InFlight(); got != n {
			t.Errorf("%d in flight, asked for %d", got, n)
		}
	}
	start(t, e, &engine.Closed{Concurrency: 1})
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
	start(t, e, &engine.Closed{Concurrency: 1})
	<-e.Failed()
	finished(t, e)
	if svc.Sent() != 11 {
		t.Errorf("%d requests were sent, want 11", svc.Sent())
	}
	if got := e.WorkerErrors(); len(got) != 1 || !errors.Is(got[0].Err, boom) || got[0].Worker != 0 {
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
	start(t, e, &engine.Closed{Concurrency: 1})
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
		start(t, e, &engine.Paced{Schedule: pace.Constant(2000), Sources: 4, Slots: 8, Cap: 64, Limit: 400})
		finished(t, e)
		e.Stop()
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
		start(t, e, &engine.Paced{Schedule: pace.Constant(1000), Sources: 1, Slots: 1, Cap: 1, Limit: 10})
		finished(t, e)
		e.Stop()
		got := records(e)
		if len(got) != 10 || svc.MostInFlight() != 1 {
			t.Fatalf("%d records, %d in flight", len(got), svc.MostInFlight())
		}
		last := got[len(got)-1]
		if lag := time.Duration(last.Lag()); lag != 9*(wait-time.Millisecond) || last.Flags&record.Delayed == 0 {
			t.Errorf("the tenth request waited %s behind nine of %s, flags %v", lag, wait, last.Flags)
		}
		if behind := 9*wait - time.Millisecond - engine.DelayedAfter; e.Behind() != behind { // from when the second was delayed until the last was sent
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
			start(t, e, &engine.Paced{Schedule: pace.Constant(1000), Sources: 1, Slots: 1, Cap: 1, Limit: limit})
			time.Sleep(21 * time.Millisecond) // the first was sent after 1 ms and is not answered yet
			synctest.Wait()
			e.Stop()
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
		start(t, e, &engine.Paced{Schedule: pace.Constant(1e11), Sources: 1, Slots: 1, Cap: 1})
		time.Sleep(101 * time.Millisecond)
		synctest.Wait()
		e.Stop()
		if n := float64(e.Dropped()); n < 0.99e10 || n > 1.01e10 {
			t.Errorf("dropped %g, want 1e10 of 0.1 s", n)
		}
	})
}

// When every worker has failed the load is over, also where sources wait for each other. After ClearFailures there may be
// another load.
func TestPacedLoadEndsWithItsLastWorker(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
			if n < 3 {
				return 0, errors.New("boom")
			}
			return 0, nil
		}}
		e := open(t, svc, engine.Config{StopOnFailure: true})
		for round, limit := range []int{100, 5} {
			start(t, e, &engine.Paced{Schedule: pace.Constant(2000), Sources: 3, Order: engine.Serial, Slots: 16, Cap: 16, Limit: limit})
			finished(t, e)
			e.Stop()
			if got := len(e.WorkerErrors()); got != 3*(1-round) {
				t.Errorf("round %d: %d failures", round, got)
			}
			e.ClearFailures()
		}
		if svc.Sent() != 8 {
			t.Errorf("%d requests were sent, want 3 that fail and 5 more", svc.Sent())
		}
	})
}

// A failed request stops its own worker alone: the others show their own failures, under the worker's number.
func TestPacedLoadFailsWorkerByWorker(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, errors.New("boom") }}
		e := open(t, svc, engine.Config{StopOnFailure: true})
		start(t, e, &engine.Paced{Schedule: pace.Constant(200), Sources: 6, Workers: 4, Slots: 16, Cap: 16})
		defer e.Stop()
		for e.Working() {
			time.Sleep(time.Millisecond)
		}
		if n := svc.Sent(); n != 4 {
			t.Errorf("%d requests were sent, want one per worker", n)
		}
		failed := e.WorkerErrors()
		for i, f := range failed {
			if f.Worker != i {
				t.Errorf("failure %d is of worker %d", i, f.Worker)
			}
		}
		if len(failed) != 4 {
			t.Errorf("%d failures, want one per worker", len(failed))
		}
	})
}

// Workers of a paced load share its slots: those of a worker that a failure has stopped are free for the others.
func TestAStoppedWorkerLeavesItsSlots(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
			if n == 0 {
				return 0, errors.New("boom")
			}
			return 0, nil
		}}
		e := open(t, svc, engine.Config{StopOnFailure: true})
		start(t, e, &engine.Paced{Schedule: pace.Constant(200), Sources: 2, Slots: 1, Cap: 1, Limit: 10})
		finished(t, e)
		if n := svc.Sent(); n != 6 {
			t.Errorf("%d requests were sent, want one that fails and the 5 of the other worker", n)
		}
	})
}

// Twice as many due as the first slots can hold: the engine makes more.
func TestPacedLoadGrows(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 100 * time.Millisecond, nil }}
		e := open(t, svc, engine.Config{})
		start(t, e, &engine.Paced{Schedule: pace.Constant(1000), Sources: 4, Slots: 4, Cap: 1000, Limit: 200})
		finished(t, e)
		e.Stop()
		if most := svc.MostInFlight(); most < 100 { // 1000 a second of 100 ms each
			t.Errorf("never more than %d in flight", most)
		}
	})
}

func TestDeadlineEndsAHungRequest(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 300 * time.Millisecond, nil }}
		e := open(t, svc, engine.Config{Timeout: 30 * time.Millisecond, StopOnFailure: true})
		start(t, e, &engine.Closed{Concurrency: 3})
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
		start(t, e, &engine.Closed{Concurrency: 3})
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

// sequences is a source whose requests come in threes.
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
			sources := map[int]*sequences{}
			e := open(t, svc, engine.Config{Source: func(slot, _ int) engine.Source {
				mu.Lock()
				defer mu.Unlock()
				sources[slot] = &sequences{}
				return sources[slot]
			}})
			// Four sources, ten requests: two send three (nothing open), two send two (one open each), by turns.
			if paced {
				start(t, e, &engine.Paced{Schedule: pace.Constant(5000), Sources: 4, Slots: 4, Cap: 4, Limit: 10})
				finished(t, e)
				e.Stop()
			} else {
				start(t, e, &engine.Closed{Concurrency: 4, Limit: 10})
			}
			finished(t, e)
			closing, open := 0, 0
			for _, r := range records(e) {
				if r.Flags&record.Closing != 0 {
					closing++
				}
			}
			for _, f := range sources {
				open += f.left
			}
			if n := int(svc.Sent()); n != 10+closing || open != 0 {
				t.Errorf("paced %v: %d sent, %d of them closing, %d left open", paced, n, closing, open)
			}
			if paced && closing != 2 {
				t.Errorf("%d closing requests, want 2", closing)
			}
		}
	})
}

// A serial load never has two requests of one source in flight.
func TestSerialOrderKeepsOneInFlightPerSource(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return 5 * time.Millisecond, nil }}
		e := open(t, svc, engine.Config{})
		start(t, e, &engine.Paced{
			Schedule: pace.Constant(5000), Sources: 3, Slots: 16, Cap: 64, Limit: 30, Order: engine.Serial,
		})
		finished(t, e)
		e.Stop()
		if most := svc.MostInFlight(); most > 3 {
			t.Errorf("%d in flight with three sources", most)
		}
	})
}

func runPeriodic(t *testing.T, e *testEngine, l *engine.Periodic) error {
	t.Helper()
	start(t, e, l)
	finished(t, e)
	return l.Err()
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
		if err := runPeriodic(t, e, &engine.Periodic{Start: 1, End: 7, Step: 1, Period: 1}); err != nil {
			t.Fatal(err)
		}
		if n := len(e.WorkerErrors()); n != 1 || svc.Sent() != 4 {
			t.Errorf("%d failures, %d requests", n, svc.Sent())
		}
	})
}

func TestPeriodicLoadRaisesTheLoadStepByStep(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return time.Millisecond, nil }}
		e := open(t, svc, engine.Config{})
		if err := runPeriodic(t, e, &engine.Periodic{Start: 2, End: 7, Step: 2, Period: 1}); err != nil {
			t.Fatal(err)
		}
		if n := len(records(e)); n != 7 || svc.Sent() != 7 {
			t.Errorf("%d records of %d requests, want exactly 7", n, svc.Sent())
		}
		if err := runPeriodic(t, e, &engine.Periodic{Start: 1, End: 2, Step: 1, Period: 2}); !errors.Is(err, engine.ErrEarlyEnd) {
			t.Errorf("one response where two were asked for: %v", err)
		}
	})
}
