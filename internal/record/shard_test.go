package record_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redline-bench/redline/internal/record"
)

// One writer and one reader at once: every record arrives once, in order, with its own events and bytes.
func TestShardLosesNothing(t *testing.T) {
	const n = 20_000
	s := record.NewShard(true, record.NewBacklog())
	added := make(chan struct{}, 1) // the reader has something to look at; closed after the last record
	go func() {
		defer close(added)
		for i := range n {
			data := fmt.Appendf(nil, "answer %d", i)
			s.Add(&record.Record{Sent: int64(i)}, []record.Event{{At: int64(i), Size: uint32(len(data))}}, data)
			select {
			case added <- struct{}{}:
			default:
			}
		}
	}()
	seen := 0
	read := func() {
		s.Drain(func(r *record.Record, events []record.Event, data []byte) {
			if r.Sent != int64(seen) || len(events) != 1 || events[0].At != int64(seen) || string(data) != fmt.Sprintf("answer %d", seen) {
				t.Fatalf("record %d: %+v %v %q", seen, r, events, data)
			}
			seen++
		})
	}
	for range added {
		read()
	}
	read()
	if seen != n {
		t.Errorf("%d of %d records arrived", seen, n)
	}
}

// Drain ends also where two records are added while it passes on one. The next Drain passes on those.
func TestDrainEndsWithAFasterWriter(t *testing.T) {
	s := record.NewShard(false, record.NewBacklog())
	added := int64(0)
	add := func() {
		s.Add(&record.Record{Sent: added}, nil, nil)
		added++
	}
	add()
	seen := int64(0)
	for want := int64(1); want < 2_000; want += want + 1 { // more than a block holds
		s.Drain(func(r *record.Record, _ []record.Event, _ []byte) {
			if r.Sent != seen {
				t.Fatalf("record %d came, want %d", r.Sent, seen)
			}
			seen++
			add()
			add()
		})
		if seen != want {
			t.Fatalf("%d records came, want %d", seen, want)
		}
	}
}

// A collector that falls behind is waited for, and what waits stays bounded.
func TestShardWaitsForTheCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := record.NewBacklog()
		s := record.NewShard(true, back)
		const n, size = 100, 1 << 20
		var writer sync.WaitGroup
		writer.Go(func() {
			data := make([]byte, size)
			for range n {
				s.Add(&record.Record{}, nil, data)
			}
		})
		time.Sleep(time.Minute) // without a Drain
		synctest.Wait()
		if d := back.Stalled(); d < time.Minute-10*time.Millisecond || d > time.Minute {
			t.Errorf("the writer has waited %v", d)
		}
		<-back.Full()
		seen := 0
		for seen < n {
			s.Drain(func(_ *record.Record, _ []record.Event, data []byte) {
				if len(data) != size {
					t.Errorf("%d bytes", len(data))
				}
				seen++
			})
			synctest.Wait()
			time.Sleep(10 * time.Millisecond) // the writer looks again
		}
		writer.Wait()
	})
}

func TestShardDoesNotAllocateOnceItRuns(t *testing.T) {
	s := record.NewShard(false, record.NewBacklog())
	r := record.Record{Sent: 1, End: 2}
	step := func() {
		for range 2000 {
			s.Add(&r, nil, nil)
		}
		s.Drain(func(*record.Record, []record.Event, []byte) {})
	}
	for range 20 {
		step()
	}
	if a := testing.AllocsPerRun(100, step); a > 0 {
		t.Errorf("%v allocations for 2000 records", a)
	}
}

func BenchmarkAdd(b *testing.B) {
	s := record.NewShard(false, record.NewBacklog())
	r := record.Record{Sent: 1, End: 2}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Add(&r, nil, nil)
		if i%1000 == 0 {
			s.Drain(func(*record.Record, []record.Event, []byte) {})
		}
	}
}
