package rest

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/wire/h1"
)

// dialers is how many connections are made at the same time: enough to hide the network's latency, few
// enough not to overflow a server's queue of unaccepted ones.
const dialers = 64

// transport is a growing row of slots.
type transport struct {
	cfg  h1.Config
	sink service.Sink
	ctx  context.Context // ends with Close; the slots' goroutines wait under it
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu    sync.Mutex // held by Grow and Close
	slots atomic.Pointer[[]*slot]
}

func newTransport(ctx context.Context, cfg h1.Config, sink service.Sink) *transport {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	t := &transport{cfg: cfg, sink: sink, ctx: ctx, stop: stop}
	t.slots.Store(&[]*slot{})
	return t
}

// Grow connects slots up to n. All of them exist afterwards, also after an error: those without a connection
// try again when they are used.
func (t *transport) Grow(ctx context.Context, n int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := *t.slots.Load()
	if n <= len(old) || t.ctx.Err() != nil {
		return t.ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	slots := append(make([]*slot, 0, n), old...)
	turn := make(chan struct{}, dialers)
	errs := make(chan error, n-len(old))
	for i := len(old); i < n; i++ {
		s := newSlot(t)
		slots = append(slots, s)
		t.wg.Go(func() {
			turn <- struct{}{}
			conn, err := h1.Dial(ctx, t.cfg)
			<-turn
			if conn != nil {
				s.conn.Store(conn)
			}
			errs <- err
			s.run()
		})
	}
	t.slots.Store(&slots)
	var first error
	for range n - len(old) {
		if err := <-errs; err != nil && first == nil {
			first = wireError(kserve.OpConnect, t.cfg.Addr, err)
		}
	}
	return first
}

func (t *transport) slot(i int) *slot { return (*t.slots.Load())[i] }

// Send writes the request at once where there is a connection, and leaves it to the slot's goroutine where not.
func (t *transport) Send(c *service.Call) { t.slot(c.Slot).send(c) }

// Flush has nothing to do: each slot has its own connection, so there is nothing to gather.
func (t *transport) Flush() {}

// Cut ends the call in flight on a slot.
func (t *transport) Cut(i int, class record.Class) { t.slot(i).cut(class) }

// Lane is the slot itself.
func (t *transport) Lane(slot int) int { return slot }

// Close cuts all calls and waits for the slots to end.
func (t *transport) Close() error {
	t.stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range *t.slots.Load() {
		s.cut(record.Canceled)
		s.interrupt()
	}
	t.wg.Wait()
	return nil
}
