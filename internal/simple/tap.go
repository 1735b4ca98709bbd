package simple

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// Tap is a service that records the times of every request. Its percentiles are interpolated over all latencies, as in
// simple_perf_client.py.
type Tap struct {
	service.Service
	mu    sync.Mutex
	slots []*[]span
}

// span is one successful request.
type span struct{ sent, end int64 }

// Stats reads the counters of the server, if it has any.
func (t *Tap) Stats(ctx context.Context) ([]service.ModelStats, error) {
	if r, ok := t.Service.(service.StatsReader); ok {
		return r.Stats(ctx)
	}
	return nil, nil
}

// Open makes a transport whose requests are recorded.
func (t *Tap) Open(ctx context.Context, sink service.Sink) (service.Transport, error) {
	return t.Service.Open(ctx, &tapSink{Sink: sink, tap: t})
}

// run drops the warm-up, the first skip requests to be sent, and returns the rest in the order in which they were
// sent. It must be called after the load.
func (t *Tap) run(skip int) []span {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []span
	for _, s := range t.slots {
		if s != nil {
			all = append(all, *s...)
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.sent, b.sent) })
	return all[min(skip, len(all)):]
}

// slot is the list of one slot, which only one goroutine at a time appends to.
func (t *Tap) slot(i int) *[]span {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.slots) <= i {
		t.slots = append(t.slots, nil)
	}
	if t.slots[i] == nil {
		t.slots[i] = &[]span{}
	}
	return t.slots[i]
}

type tapSink struct {
	service.Sink
	tap *Tap
}

// Done records a successful request and passes it on.
func (s *tapSink) Done(c *service.Call) {
	if c.Rec.Class == record.OK && c.Rec.Flags&record.Closing == 0 {
		list := s.tap.slot(c.Slot)
		*list = append(*list, span{c.Rec.Sent, c.Rec.End})
	}
	s.Sink.Done(c)
}
