package run_test

import (
	"math/rand/v2"
	"testing"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/run"
)

// Each record is passed on once, with its responses, as soon as the Inbox may: never before.
func TestAnInboxPassesEachRecordOnOnceAndInTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		until := int64(run.HoldAll)
		got := map[uint32]int{}
		b := run.NewInbox(until, func(r *record.Record, events []record.Event, data []byte) {
			got[r.Slot]++
			if r.End > until || len(events) != 1 || events[0].At != r.End || string(data) != "data" {
				t.Fatalf("until %d: %+v %v %q", until, r, events, data)
			}
		})
		ends := map[uint32]int64{}
		event, data := make([]record.Event, 1), []byte("data")
		for slot := range uint32(100) {
			end := rng.Int64N(1000)
			ends[slot] = end
			event[0].At = end
			copy(data, "data")
			b.Take(&record.Record{Slot: slot, Sent: end - 10, End: end}, event, data)
			copy(data, "gone") // both are valid until Take returns
			if rng.IntN(10) == 0 {
				until = rng.Int64N(1000)
				b.Until(until)
			}
		}
		if rng.IntN(2) == 0 {
			until = run.HoldNone
			b.Until(until)
		}
		for slot, end := range ends {
			if got[slot] > 1 || got[slot] == 0 && end <= until {
				t.Fatalf("a request that ended at %d, of those until %d, came %d times", end, until, got[slot])
			}
		}
	}
}

// What was in flight at a time: the requests that still are, and those that ended since.
func TestRequestsInFlightAtATime(t *testing.T) {
	b := run.NewInbox(100, func(*record.Record, []record.Event, []byte) {})
	b.Take(&record.Record{Slot: 1, Sent: 90, End: 110}, nil, nil)
	b.Take(&record.Record{Slot: 2, Sent: 105, End: 120}, nil, nil)
	b.Take(&record.Record{Slot: 3, Sent: 90, End: 110, Flags: record.Closing}, nil, nil)
	b.Take(&record.Record{Slot: 4, Sent: 50, End: 99}, nil, nil)
	var slots []uint32
	for _, p := range b.InFlight(100, []engine.Flight{{Slot: 5, Sent: 99}, {Slot: 6, Sent: 100}}) {
		slots = append(slots, p.Slot)
	}
	if len(slots) != 2 || slots[0] != 5 || slots[1] != 1 {
		t.Errorf("slots %v", slots)
	}
}

// A request that ends while the list is made is among the records alone.
func TestTheListOfRequestsInFlightIsExact(t *testing.T) {
	var f run.Flying
	f.Ended(&record.Record{Slot: 1, Due: 7}) // before the list
	f.Begin([]engine.Flight{{Slot: 1, Due: 7}, {Slot: 2, Due: 7}, {Slot: 3, Due: 7}})
	f.Ended(&record.Record{Slot: 2, Due: 7})
	f.Ended(&record.Record{Slot: 3, Due: 6}) // the slot's request before
	if list := f.End(); len(list) != 2 || list[0].Slot != 1 || list[1].Slot != 3 {
		t.Errorf("%v", list)
	}
}

// Nothing is allocated for a record that need not wait.
func TestARecordCostsNoMemory(t *testing.T) {
	n := 0
	b := run.NewInbox(run.HoldNone, func(*record.Record, []record.Event, []byte) { n++ })
	var f run.Flying
	r := record.Record{End: 5}
	if a := testing.AllocsPerRun(1000, func() { f.Ended(&r); b.Take(&r, nil, nil) }); a != 0 || n == 0 {
		t.Errorf("%g allocations a record", a)
	}
}
