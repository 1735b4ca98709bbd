//go:build !race

// Simulations have no threads and are slow under the race detector: `make unit` runs them without it.

package record_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/testkit"
)

// entry is one record with what belongs to it.
type entry struct {
	Rec    record.Record
	Events []record.Event
	Data   string
}

// Shards that share a backlog give back what was added, each in its order, however adding and draining alternate: what
// the drains of a shard return, put together, is what was added to it.
func TestDrainsAreTheConcatenation(t *testing.T) {
	testkit.Rounds(t, 30, func(t *testing.T, rng *rand.Rand) {
		back := record.NewBacklog()
		keep := rng.IntN(2) == 0
		shards := make([]*record.Shard, 1+rng.IntN(5))
		added, drained := make([][]entry, len(shards)), make([][]entry, len(shards))
		for i := range shards {
			shards[i] = record.NewShard(keep, back)
		}
		drain := func(i int) {
			shards[i].Drain(func(r *record.Record, events []record.Event, data []byte) {
				drained[i] = append(drained[i], entry{*r, append([]record.Event(nil), events...), string(data)})
			})
		}
		for n := range rng.IntN(3000) {
			i := rng.IntN(len(shards))
			e := entry{Rec: record.Record{SeqID: uint64(n), End: rng.Int64()}}
			data := make([]byte, rng.IntN(2)*rng.IntN(2000))
			for j := range rng.IntN(4) {
				e.Events = append(e.Events, record.Event{At: int64(j), Size: uint32(rng.IntN(100))})
			}
			for j := range data {
				data[j] = byte(rng.Uint32())
			}
			shards[i].Add(&e.Rec, e.Events, data)
			if e.Data = string(data); !keep {
				e.Events, e.Data = nil, ""
			}
			added[i] = append(added[i], e)
			if rng.IntN(200) == 0 {
				drain(rng.IntN(len(shards)))
			}
		}
		for i := range shards {
			drain(i)
		}
		if d := cmp.Diff(added, drained); d != "" {
			t.Errorf("added (-), drained (+): %.2000s", d)
		}
	})
}
