package rpc

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// slotsPerLane is how many slots share a connection where the plan does not say how many connections to make.
const slotsPerLane = 64

// transport carries the calls of a run.
type transport struct {
	svc  *Service
	sink service.Sink

	ctx    context.Context // ends with Close; the lanes' dials hang on it
	cancel context.CancelFunc
	wg     sync.WaitGroup

	growing sync.Mutex // serializes Grow
	share   int        // slots a lane, where slots fill lanes one after another
	// The lists are replaced, never changed, so that Send reads them without a lock.
	slots atomic.Pointer[[]*slot]
	lanes atomic.Pointer[[]*lane]
}

// Open makes a transport with no slots.
func (s *Service) Open(ctx context.Context, sink service.Sink) (service.Transport, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &transport{svc: s, sink: sink}
	t.ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	t.slots.Store(&[]*slot{})
	t.lanes.Store(&[]*lane{})
	return s.shared.Wrap(t, s.bind), nil
}

// Grow makes the slots below n usable.
func (t *transport) Grow(ctx context.Context, n int) error {
	t.growing.Lock()
	defer t.growing.Unlock()
	slots := *t.slots.Load()
	if n <= len(slots) {
		return nil
	}
	if t.share == 0 {
		if err := t.firstLane(ctx); err != nil {
			return err
		}
	}
	if err := t.growLanes(ctx, t.Lane(n-1)+1, n); err != nil {
		return err
	}
	slots = append([]*slot(nil), slots...)
	lanes := *t.lanes.Load()
	for i := len(slots); i < n; i++ {
		slots = append(slots, newSlot(t, lanes[t.Lane(i)]))
	}
	t.slots.Store(&slots)
	return nil
}

// firstLane makes the first connection, which tells how many streams the server takes on one.
func (t *transport) firstLane(ctx context.Context) error {
	l := newLane(t)
	c, err := l.dial(ctx)
	if err != nil {
		return notConnected(kserve.OpConnect, t.svc.target.URL, err)
	}
	t.share = int(max(1, min(slotsPerLane, c.MaxStreams())))
	t.lanes.Store(&[]*lane{l})
	l.start(c)
	return nil
}

// growLanes dials until there are enough connections for n slots.
func (t *transport) growLanes(ctx context.Context, want, n int) error {
	if k := t.svc.target.Connections; k > 0 {
		want = min(k, n) // slots go round them: the last slot's lane is not the highest
	}
	lanes := append([]*lane(nil), *t.lanes.Load()...)
	defer func() { t.lanes.Store(&lanes) }()
	for len(lanes) < want {
		l := newLane(t)
		c, err := l.dial(ctx)
		if err != nil {
			return notConnected(kserve.OpConnect, t.svc.target.URL, err)
		}
		l.start(c)
		lanes = append(lanes, l)
	}
	return nil
}

// Lane is the index of the slot's connection.
func (t *transport) Lane(i int) int {
	if k := t.svc.target.Connections; k > 0 {
		return i % k
	}
	return i / max(1, t.share)
}

// Send puts a call on the wire. Its times are taken before the call can be seen by the reader.
func (t *transport) Send(c *service.Call) {
	now := clock.Now()
	s := (*t.slots.Load())[c.Slot]
	s.begin(c, now)
	s.lane.send(s)
}

// Flush writes what was gathered on any lane since the last time.
func (t *transport) Flush() {
	for _, l := range *t.lanes.Load() {
		if l.dirty.Load() {
			l.dirty.Store(false)
			if c := l.conn.Load(); c != nil {
				c.Flush()
			}
		}
	}
}

// cutCauses are what calls are cut with, one for each class.
var cutCauses = makeCauses()

func makeCauses() (causes [record.NumClasses]*service.Error) {
	for c := range causes {
		class := record.Class(c)
		text := "the request was cut: " + class.String()
		if class == record.Timeout {
			text = "the request was not answered in time"
		}
		causes[c] = &service.Error{Op: kserve.OpInfer, Class: class, Text: text}
	}
	return causes
}

// Cut ends the call in flight on the slot.
func (t *transport) Cut(i int, class record.Class) {
	s := (*t.slots.Load())[i]
	if class >= record.NumClasses {
		class = record.Canceled
	}
	s.lane.cut(s, cutCauses[class])
}

// errClosed is why calls fail after Close.
var errClosed = &service.Error{Op: kserve.OpInfer, Class: record.Canceled, Text: "the transport is closed"}

// Close cuts everything and waits for the lanes.
func (t *transport) Close() error {
	t.growing.Lock()
	defer t.growing.Unlock()
	t.cancel()
	for _, l := range *t.lanes.Load() {
		l.close()
	}
	t.wg.Wait()
	return nil
}

// retriable tells whether the server promises that it has not looked at a call, because it is leaving the
// connection: gRPC clients send such calls again on a new one.
func retriable(err error) bool {
	var e *h2.Error
	return errors.As(err, &e) && e.Kind == h2.GoAway && e.Unprocessed
}
