package grpclane

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// slotsPerLane is how many slots share a connection where the plan does not say how many connections to make.
const slotsPerLane = 64

// Transport carries the calls of a run; it is a service.Transport. Use New or NewWays.
type Transport struct {
	srv  *Server
	sink service.Sink
	way  func(*Slot) Way
	late bool // see ConnectLater

	ctx    context.Context // ends with Close; the lanes' dials hang on it
	cancel context.CancelFunc
	wg     sync.WaitGroup

	growing sync.Mutex // serializes Grow
	share   int        // slots a lane, where slots fill lanes one after another
	tracks  int        // slots i, i+tracks, ... belong together; 0: each slot is alone
	down    bool       // the first lane found no server: the others need not wait for that too
	// The lists are replaced, never changed, so that Send reads them without a lock.
	slots atomic.Pointer[[]*Slot]
	lanes atomic.Pointer[[]*lane]
}

var (
	_ service.Transport = (*Transport)(nil)
	_ service.Tracker   = (*Transport)(nil)
	_ service.Renewer   = (*Transport)(nil)
)

// New makes a transport with no slots, whose calls have a stream each, opened with the given header. exchange is
// called once for each slot.
func New(ctx context.Context, srv *Server, sink service.Sink, h *h2.Header, exchange func() Exchange) (*Transport, error) {
	return NewWays(ctx, srv, sink, func(s *Slot) Way {
		w := &stream{slot: s, header: h, ex: exchange()}
		w.h2.Bind(w)
		return w
	})
}

// NewWays makes a transport with no slots. way is called once for each slot.
func NewWays(ctx context.Context, srv *Server, sink service.Sink, way func(*Slot) Way) (*Transport, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := &Transport{srv: srv, sink: sink, way: way}
	t.ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	t.slots.Store(&[]*Slot{})
	t.lanes.Store(&[]*lane{})
	return t, nil
}

// ConnectLater lets Grow succeed where the server cannot be reached: the calls then tell. It is for kinds that
// have not spoken to the server before the load.
func (t *Transport) ConnectLater() { t.late = true }

// Tracks puts slots onto tracks: those of one track share a lane, and their ways a stream where they can.
func (t *Transport) Tracks(n int) {
	t.growing.Lock()
	defer t.growing.Unlock()
	t.tracks = n
}

// Renew ends the streams of ways that keep one from call to call.
func (t *Transport) Renew() {
	for _, s := range *t.slots.Load() {
		if r, ok := s.way.(service.Renewer); ok {
			r.Renew()
		}
	}
	t.Flush()
}

// Grow makes the slots below n usable.
func (t *Transport) Grow(ctx context.Context, n int) error {
	t.growing.Lock()
	defer t.growing.Unlock()
	slots := *t.slots.Load()
	if n <= len(slots) {
		return nil
	}
	t.srv.held.Requests(n)
	if t.share == 0 {
		if err := t.firstLane(ctx); err != nil {
			return err
		}
	}
	highest := n - 1
	if t.tracks > 0 {
		highest = min(highest, t.tracks-1)
	}
	if err := t.growLanes(ctx, t.Lane(highest)+1, highest+1); err != nil {
		return err
	}
	slots = append([]*Slot(nil), slots...)
	lanes := *t.lanes.Load()
	for i := len(slots); i < n; i++ {
		slots = append(slots, newSlot(t, lanes[t.Lane(i)], t.track(i)))
	}
	t.slots.Store(&slots)
	return nil
}

// firstLane makes the first connection, which tells how many streams the server takes on one.
func (t *Transport) firstLane(ctx context.Context) error {
	l := newLane(t)
	c, err := l.dial(ctx)
	if err != nil && (!t.late || ctx.Err() != nil) {
		return notConnected(service.OpConnect, t.srv.addr, err)
	}
	t.share = slotsPerLane
	if t.down = err != nil; !t.down {
		t.share = int(max(1, min(slotsPerLane, c.MaxStreams())))
	}
	t.lanes.Store(&[]*lane{l})
	l.start(c)
	return nil
}

// growLanes dials until there are enough connections for n tracks.
func (t *Transport) growLanes(ctx context.Context, want, n int) error {
	if k := t.srv.conns; k > 0 {
		want = min(k, n) // slots go round them: the last slot's lane is not the highest
	}
	lanes := append([]*lane(nil), *t.lanes.Load()...)
	defer func() { t.lanes.Store(&lanes) }()
	for len(lanes) < want {
		l := newLane(t)
		var c *h2.Conn
		if !t.down {
			var err error
			if c, err = l.dial(ctx); err != nil && (!t.late || ctx.Err() != nil) {
				return notConnected(service.OpConnect, t.srv.addr, err)
			}
		}
		l.start(c)
		lanes = append(lanes, l)
	}
	return nil
}

// track is the index of the slot's track.
func (t *Transport) track(i int) int {
	if t.tracks > 0 {
		return i % t.tracks
	}
	return i
}

// Lane is the index of the slot's connection.
func (t *Transport) Lane(i int) int {
	i = t.track(i)
	if k := t.srv.conns; k > 0 {
		return i % k
	}
	return i / max(1, t.share)
}

// Send puts a call on the wire. Its times are taken before the call can be seen by the reader.
func (t *Transport) Send(c *service.Call) {
	now := clock.Now()
	s := (*t.slots.Load())[c.Slot]
	s.begin(c, now)
	s.lane.send(s)
}

// Flush writes what was gathered on any lane since the last time.
func (t *Transport) Flush() {
	for _, l := range *t.lanes.Load() {
		if l.dirty.Load() {
			l.dirty.Store(false)
			if c := l.conn.Load(); c != nil {
				c.Flush()
			}
		}
	}
}

// Cut ends the call in flight on the slot.
func (t *Transport) Cut(i int, class record.Class) {
	s := (*t.slots.Load())[i]
	s.lane.cut(s, service.CutError(class, t.srv.addr, nil))
}

// Close cuts everything and waits for the lanes.
func (t *Transport) Close() error {
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
// connection or has refused the stream: gRPC clients send such calls again.
func retriable(err error) bool {
	var e *neterr.Error
	return errors.As(err, &e) && e.Unprocessed
}
