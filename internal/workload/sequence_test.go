package workload_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/workload"
)

func stateful() *service.Model {
	m := model(tensor.Int32, 1)
	m.Scheduler = service.SequenceBatcher
	return m
}

// run takes the calls of one whole sequence.
func run(t *testing.T, c *workload.SequenceCursor) []service.Call {
	t.Helper()
	var calls []service.Call
	for {
		var call service.Call
		c.Next(&call)
		calls = append(calls, call)
		if call.Vars.End {
			break
		}
	}
	for i, call := range calls {
		v := call.Vars
		flags := call.Rec.Flags
		if v.Start != (i == 0) || !v.Present || v.SeqID != calls[0].Vars.SeqID || call.Rec.SeqID != v.SeqID ||
			(flags&record.SequenceStart != 0) != v.Start || (flags&record.SequenceEnd != 0) != v.End {
			t.Fatalf("call %d of %d: %+v", i, len(calls), call)
		}
	}
	if c.Open() {
		t.Fatal("the sequence is open after its end")
	}
	return calls
}

func TestSequenceLengths(t *testing.T) {
	in := plan.Input{Batch: 1, Source: plan.Zero, SequenceLength: 20, SequenceLengthVariation: 20, SequenceStartID: 5, SequenceIDRange: 1 << 32}
	r, _ := prepare(t, load(t, in, stateful()))
	c := r.Sequences(1, segment.Segment{}).Cursor(0, 0, false)
	seen := map[int]int{}
	for i := range 2000 {
		calls := run(t, c)
		seen[len(calls)]++
		if got := calls[0].Vars.SeqID; got != uint64(5+i) {
			t.Fatalf("sequence %d has id %d", i, got)
		}
	}
	for n := range seen {
		if n < 16 || n > 24 {
			t.Errorf("a sequence of %d requests, want 20 give or take 4", n)
		}
	}
	if len(seen) < 7 {
		t.Errorf("lengths vary too little: %v", seen)
	}
}

// The lengths that perf_analyzer 2.60.0 was seen to send, whatever slot a sequence is on: it draws them from the generator
// that has made its random data.
func TestSequenceLengthsArePerfAnalyzers(t *testing.T) {
	f := func(source plan.DataSource, variation float64, want ...int) {
		t.Helper()
		in := plan.Input{Batch: 1, Source: source, SequenceLength: 5, SequenceLengthVariation: variation, SequenceStartID: 1}
		r, _ := prepare(t, load(t, in, stateful()))
		all := r.Sequences(2, segment.Segment{})
		cursors := []*workload.SequenceCursor{all.Cursor(0, 0, false), all.Cursor(1, 0, false)}
		var got []int
		for i := range want {
			got = append(got, len(run(t, cursors[i%2])))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
	}
	f(plan.Random, 40, 6, 4, 5, 6, 5, 5, 5, 5, 5, 5, 6, 6, 5, 5, 4, 5, 4, 4, 4, 6)
	f(plan.Zero, 50, 6, 5, 6, 6, 7, 4, 5, 6, 4, 5, 5, 5, 5, 5, 7, 7, 5, 6, 4, 5)
}

func TestSequenceOfOne(t *testing.T) {
	in := plan.Input{Batch: 1, Source: plan.Zero, SequenceLength: 1, SequenceLengthVariation: 1000}
	r, _ := prepare(t, load(t, in, stateful()))
	c := r.Sequences(1, segment.Segment{}).Cursor(0, 0, true)
	for i := range 100 {
		if calls := run(t, c); i == 0 && (calls[0].Vars.ID != 0 || !calls[0].Vars.HasID) {
			t.Errorf("first request id %+v", calls[0].Vars)
		}
	}
}

func TestSequencesOfFiles(t *testing.T) {
	in := fromJSON(t, numbered(4, 3, 2))
	in.SequenceLength, in.SequenceLengthVariation, in.SequenceStartID = 20, 20, 1
	r, got := prepare(t, load(t, in, stateful()))
	if r.Len() != 9 {
		t.Fatalf("%d requests", r.Len())
	}
	for i := range got {
		if d := cmp.Diff(got[i].Tensors, r.Inputs(uint32(i))); d != "" {
			t.Error(d)
		}
	}
	c := r.Sequences(1, segment.Segment{}).Cursor(0, 0, false)
	first := map[uint32]int{}
	for range 300 {
		calls := run(t, c)
		start := calls[0].Rec.Step
		first[start]++
		want := map[uint32]int{0: 4, 4: 3, 7: 2}[start]
		if len(calls) != want {
			t.Fatalf("the stream at %d gave %d requests, want %d", start, len(calls), want)
		}
		for i, call := range calls {
			if call.Rec.Step != start+uint32(i) {
				t.Fatalf("request %d is step %d of the stream at %d", i, call.Rec.Step, start)
			}
		}
	}
	for _, start := range []uint32{0, 4, 7} {
		if first[start] < 60 {
			t.Errorf("streams are not chosen evenly: %v", first)
		}
	}

	in.SequenceLength, in.SequenceLengthSet, in.SequenceLengthVariation = 6, true, 0
	r, _ = prepare(t, load(t, in, stateful()))
	calls := run(t, r.Sequences(1, segment.Segment{}).Cursor(0, 0, false))
	start := calls[0].Rec.Step
	n := map[uint32]uint32{0: 4, 4: 3, 7: 2}[start]
	for i, call := range calls {
		if len(calls) != 6 || call.Rec.Step != start+uint32(i)%n {
			t.Errorf("request %d of %d is step %d; the stream starts at %d", i, len(calls), call.Rec.Step, start)
		}
	}
}

func TestCloseSequence(t *testing.T) {
	in := plan.Input{Batch: 1, Source: plan.Zero, SequenceLength: 20}
	r, _ := prepare(t, load(t, in, stateful()))
	c := r.Sequences(1, segment.Segment{}).Cursor(0, 0, false)
	var call service.Call
	if c.Close(&call) {
		t.Error("closed a sequence that never began")
	}
	c.Next(&call)
	c.Next(&call)
	if !c.Open() || !c.Close(&call) || !call.Vars.End || call.Vars.Start || c.Open() || c.Close(&call) {
		t.Errorf("closing went wrong: %+v", call.Vars)
	}
	c.Next(&call)
	if !call.Vars.Start {
		t.Error("no new sequence after closing")
	}
}

// A short range of ids: no two slots may ever run the same id at once.
func TestSequenceIDsInUse(t *testing.T) {
	in := plan.Input{Batch: 1, Source: plan.Zero, SequenceLength: 3, SequenceLengthVariation: 100, SequenceStartID: 10, SequenceIDRange: 5, Seed: 3}
	r, _ := prepare(t, load(t, in, stateful()))
	const slots = 4
	all := r.Sequences(slots, segment.Segment{})
	var cursors [slots]*workload.SequenceCursor
	open := map[uint64]int{}
	for i := range cursors {
		cursors[i] = all.Cursor(i, i, false)
	}
	for round := range 3000 {
		slot := round * 7 % slots
		if round < 60 {
			slot = 0 // the range is used up before the other slots begin
		}
		var call service.Call
		cursors[slot].Next(&call)
		id := call.Vars.SeqID
		if id < 10 || id > 14 {
			t.Fatalf("id %d is out of range", id)
		}
		if owner, ok := open[id]; ok && owner != slot {
			t.Fatalf("id %d runs on slots %d and %d", id, owner, slot)
		}
		open[id] = slot
		if call.Vars.End {
			delete(open, id)
		}
	}
}

func TestSequenceIDsConcurrently(t *testing.T) {
	in := plan.Input{Batch: 1, Source: plan.Zero, SequenceLength: 1, SequenceStartID: 1, SequenceIDRange: 1 << 32}
	r, _ := prepare(t, load(t, in, stateful()))
	const slots, each = 8, 500
	all := r.Sequences(slots, segment.Segment{})
	ids := make([][]uint64, slots)
	var wg sync.WaitGroup
	for slot := range slots {
		wg.Go(func() {
			c := all.Cursor(slot, slot, false)
			var call service.Call
			for range each {
				c.Next(&call)
				ids[slot] = append(ids[slot], call.Vars.SeqID)
			}
		})
	}
	wg.Wait()
	seen := map[uint64]bool{}
	for _, list := range ids {
		for _, id := range list {
			if id < 1 || id > slots*each || seen[id] {
				t.Fatalf("id %d is wrong or was given twice", id)
			}
			seen[id] = true
		}
	}
}

// Without a range, two runs have ids of their own.
func TestSequenceIDsOfTwoRuns(t *testing.T) {
	in := plan.Input{Batch: 1, Source: plan.Zero, SequenceLength: 1}
	seen := map[uint64]bool{}
	for range 2 {
		r, _ := prepare(t, load(t, in, stateful()))
		c := r.Sequences(1, segment.Segment{}).Cursor(0, 0, false)
		for range 1000 {
			var call service.Call
			c.Next(&call)
			id := call.Vars.SeqID
			if id == 0 || id >= 1<<31 || seen[id] {
				t.Fatalf("id %d is no 31-bit number, or was given twice", id)
			}
			seen[id] = true
		}
	}
}
