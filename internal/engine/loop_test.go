package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/testkit"
)

// burst is a load loop as a newcomer would add it: all slots send at once, and again when the last of them has its response.
type burst struct {
	size, times int

	e       *Engine
	left    atomic.Int64  // requests of the burst in flight
	through chan struct{} // the burst has ended
}

func (b *burst) prepare(ctx context.Context, e *Engine) error {
	b.e, b.through = e, make(chan struct{}, 1)
	return e.grow(ctx, b.size)
}

func (b *burst) begin(ctx context.Context) {
	b.e.spawn(func() {
		for range b.times {
			b.left.Store(int64(b.size))
			for _, s := range b.e.snapshot()[:b.size] {
				b.e.active.Add(1)
				s.use(b.e.makeSource(s.call.Slot, b.size), s.call.Slot)
				now := clock.Now()
				b.e.send(s, now, now, 0)
			}
			b.e.tr.Flush()
			select {
			case <-b.through:
			case <-ctx.Done():
				return
			}
		}
	})
}

func (b *burst) ended(s *slot, _ bool) {
	b.e.park(s)
	if b.left.Add(-1) == 0 {
		b.through <- struct{}{}
	}
}

// A new loop needs one file: records, counters, deadlines and the stop come from the engine.
func TestANewLoopIsOneType(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		const size, times = 3, 4
		const hung = size * times // the first request of the second load
		svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
			if n >= hung {
				return time.Hour, nil
			}
			return time.Duration(n) * time.Millisecond, nil
		}}
		var sent []int64
		classes := map[record.Class]int{}
		e, err := Open(t.Context(), Config{
			Service: svc, Timeout: time.Second, Source: func(int, int) Source { return testkit.Source{} },
			Collect: func(r *record.Record, _ []record.Event, _ []byte) {
				sent = append(sent, r.Sent)
				classes[r.Class]++
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := e.Start(t.Context(), &burst{size: size, times: times}); err != nil {
				t.Fatal(err)
			}
			if n := e.InFlight(); n > size {
				t.Errorf("%d in flight", n)
			}
			time.Sleep(100 * time.Millisecond)
		}
		e.Stop()
		if err := e.Finished(t.Context()); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if n := e.Sent(); n != hung+size || len(sent) != hung+size || classes[record.OK] != hung || classes[record.Timeout] != size {
			t.Errorf("%d requests counted, %d records: %v", n, len(sent), classes)
		}
	})
}
