package engine_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/testkit"
)

// A random load on a random server: closed loop, open loop in every order of sources, periodic, sessions; with limits,
// stops in the middle, deadlines, cancellations and failures. Every request that the server saw has one record, with the
// class that the server gave it; failures are counted once; a limit is kept to the request.
func TestEveryRequestHasOneRecord(t *testing.T) {
	testkit.Rounds(t, 200, func(t *testing.T, rng *rand.Rand) {
		testkit.Simulate(t, func(t *testing.T) { countRandomLoad(t, rng) })
	})
}

func countRandomLoad(t *testing.T, rng *rand.Rand) {
	ledger := &testkit.Ledger{}
	kind := rng.IntN(len(randomLoads))
	cfg := engine.Config{StopOnFailure: rng.IntN(5) == 0, Keep: rng.IntN(2) == 0}
	cfg.Service = ledger.Server(rng, time.Duration(1+rng.IntN(20))*time.Millisecond, rng.IntN(2) == 0)
	if rng.IntN(3) == 0 {
		cfg.Timeout = time.Duration(1+rng.IntN(20)) * time.Millisecond
	}
	if rng.IntN(4) == 0 {
		mean := time.Duration(rng.IntN(3000)) * time.Microsecond
		cfg.ThinkTime, cfg.Seed = pace.ThinkTime{Mean: mean, Spread: mean / time.Duration(1+rng.IntN(3))}, rng.Uint64()
	}
	length := rng.IntN(2) * (1 + rng.IntN(5))
	sessions := randomLoads[kind].sessions
	left, pause := 1+rng.IntN(20), time.Duration(rng.IntN(5))*time.Millisecond
	cfg.Source = func(int, int) engine.Source {
		if sessions {
			return ledger.Session(left, pause)
		}
		return ledger.Sequences(length)
	}
	got := map[uint64]record.Record{}
	cfg.Collect = func(r *record.Record, _ []record.Event, _ []byte) {
		if _, known := got[r.SeqID]; known {
			t.Errorf("request %d has two records", r.SeqID)
		}
		got[r.SeqID] = *r
	}
	e, err := engine.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	limit, patience := randomLimit(rng), time.Duration(rng.IntN(30))*time.Millisecond
	randomLoads[kind].run(t, e, rng, limit)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_ = e.Wait(ctx)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	want, once := ledger.Ended()
	if !once || ledger.Made() != uint64(len(want)) {
		t.Errorf("%d requests were made, %d ended at the server, each once: %v", ledger.Made(), len(want), once)
	}
	if !maps.Equal(want, got) { // cmp.Diff is slow
		t.Errorf("%s: server and client differ: %.2000s", randomLoads[kind].name, cmp.Diff(want, got))
	}
	checkTotals(t, e, got, limit, randomLoads[kind].limited)
}

// Each slot of a periodic load sends one request. A slot whose request ends while the next slot is being started must not
// send in its place: the load would wait for a slot that never began.
func TestPeriodicSlotsSendOneRequestEach(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Stream: func(int64) (int, bool) { return 2, false }}
		starts := make([]int, 3)
		e := open(t, svc, engine.Config{Source: func(slot, _ int) engine.Source {
			if starts[slot]++; starts[slot] == 1 && slot > 0 {
				time.Sleep(time.Second) // the request of the slot before ends meanwhile
			}
			return testkit.Source{}
		}})
		if err := runPeriodic(t, e, &engine.Periodic{Start: 1, End: 3, Step: 1, Period: 1}); err != nil {
			t.Error(err)
		}
		if n := svc.Sent(); n != 3 {
			t.Errorf("%d requests were sent, want 3", n)
		}
	})
}

// checkTotals compares the engine's own counts with the records.
func checkTotals(t *testing.T, e *engine.Engine, got map[uint64]record.Record, limit int, limited bool) {
	var sent, failed uint64
	for _, r := range got {
		if r.Flags&record.Closing != 0 {
			continue
		}
		sent++
		if r.Class != record.OK && r.Class != record.Canceled {
			failed++
		}
	}
	var counted uint64
	for _, f := range e.Failures() {
		counted += f.Count
	}
	if counted != failed {
		t.Errorf("%d failures counted, %d records of them", counted, failed)
	}
	if n := e.Sent(); n != sent {
		t.Errorf("%d requests counted as sent, %d records", n, sent)
	}
	if limit == 0 || !limited {
		return
	}
	select {
	case <-e.Failed(): // the load ended before its limit
		if sent > uint64(limit) {
			t.Errorf("%d requests sent, at most %d asked for", sent, limit)
		}
	default:
		if sent != uint64(limit) {
			t.Errorf("%d requests sent, %d asked for", sent, limit)
		}
	}
}

// randomLimit is a number of requests, or 0 for none.
func randomLimit(rng *rand.Rand) int { return rng.IntN(2) * (1 + rng.IntN(300)) }

// randomLoads are the kinds of load, each with random parameters.
var randomLoads = []struct {
	name     string
	sessions bool // requests come from sessions
	limited  bool // the limit is kept
	run      func(t *testing.T, e *engine.Engine, rng *rand.Rand, limit int)
}{
	{"closed loop", false, true, func(t *testing.T, e *engine.Engine, rng *rand.Rand, limit int) {
		if err := e.Start(t.Context(), &engine.Closed{Concurrency: 1 + rng.IntN(12), Limit: limit, LimitParts: rng.IntN(4)}); err != nil {
			t.Error(err)
		}
		if limit > 0 {
			_ = e.Finished(t.Context())
			return
		}
		for range rng.IntN(4) { // the level changes while requests are in flight
			time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
			if err := e.Start(t.Context(), &engine.Closed{Concurrency: 1 + rng.IntN(12)}); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
		e.Stop()
	}},
	{"open loop", false, true, func(t *testing.T, e *engine.Engine, rng *rand.Rand, limit int) {
		rate := 10 + 2000*rng.Float64()
		load := &engine.Paced{
			Schedule: pace.Constant(rate), Sources: 1 + rng.IntN(6), Order: engine.Order(rng.IntN(4)), Seed: rng.Uint64(),
			Slots: 1 + rng.IntN(8), Limit: limit,
		}
		if rng.IntN(2) == 0 {
			load.Schedule = pace.Poisson(rate, rng.Uint64())
		}
		load.Workers, load.Cap = rng.IntN(load.Sources+1), load.Slots+rng.IntN(40)
		if err := e.Start(t.Context(), load); err != nil {
			t.Error(err)
			return
		}
		if limit > 0 {
			_ = e.Finished(t.Context())
		} else {
			time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
		}
		e.Stop()
	}},
	{"periodic", false, false, func(t *testing.T, e *engine.Engine, rng *rand.Rand, _ int) {
		start := 1 + rng.IntN(5)
		// A server that answers fewer times than the period, or that fails, ends the load early. No record is lost then.
		if err := e.Start(t.Context(), &engine.Periodic{Start: start, End: start + rng.IntN(20), Step: 1 + rng.IntN(4), Period: 1 + rng.IntN(4)}); err != nil {
			t.Error(err)
		}
		_ = e.Finished(t.Context())
		e.Stop()
	}},
	{"sessions", true, false, func(t *testing.T, e *engine.Engine, rng *rand.Rand, _ int) {
		if err := e.Start(t.Context(), &engine.Closed{Concurrency: 1 + rng.IntN(8)}); err != nil {
			t.Error(err)
		}
		if rng.IntN(2) == 0 {
			_ = e.Finished(t.Context())
			return
		}
		time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
		e.Stop()
	}},
}
