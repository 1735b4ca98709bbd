package http2pool

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// SlotsPerConnection is how many slots share a connection where the plan does not say how many connections to make.
const SlotsPerConnection = 64

// Transport is the pool of a run; it is a service.Transport. Use New.
type Transport struct {
	cfg    Config
	sink   service.Sink
	sender func(*Slot) Sender

	ctx    context.Context // ends with Close; attempts to connect again depend on it
	cancel context.CancelFunc
	wg     sync.WaitGroup

	growing sync.Mutex // serializes Grow
	share   int        // slots a connection, where slots fill connections one after another
	tracks  int        // slots i, i+tracks, ... belong together; 0: each slot is alone
	down    bool       // the first connection could not be made: the others need not wait for that too
	// The lists are replaced, never changed, so that Send reads them without a lock.
	slots atomic.Pointer[[]*Slot]
	conns atomic.Pointer[[]*connection]
}

var (
	_ service.Transport = (*Transport)(nil)
	_ service.Tracker   = (*Transport)(nil)
	_ service.Renewer   = (*Transport)(nil)

	_ service.Multiplexer = (*Transport)(nil)
)

// New makes a pool with no slots. sender is called once for each slot.
func New(ctx context.Context, cfg Config, sink service.Sink, sender func(*Slot) Sender) (*Transport, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if cfg.Failure == nil {
		cfg.Failure = Failure
	}
	t := &Transport{cfg: cfg, sink: sink, sender: sender}
	t.ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	t.slots.Store(&[]*Slot{})
	t.conns.Store(&[]*connection{})
	return t, nil
}

// Tracks puts slots onto tracks: those of one track share a connection, and their senders a stream where they can.
func (t *Transport) Tracks(n int) {
	t.growing.Lock()
	defer t.growing.Unlock()
	t.tracks = n
}

// Connections implements service.Multiplexer.
func (t *Transport) Connections() (n int, busiest time.Duration) {
	conns := *t.conns.Load()
	for _, c := range conns {
		busiest = max(busiest, time.Duration(c.busy.Load()))
	}
	return len(conns), busiest
}

// Renew ends the streams of senders that keep one from call to call.
func (t *Transport) Renew() {
	for _, s := range *t.slots.Load() {
		if r, ok := s.sender.(service.Renewer); ok {
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
	t.cfg.Held.Requests(n)
	if t.share == 0 {
		if err := t.firstConnection(ctx); err != nil {
			return err
		}
	}
	highest := n - 1
	if t.tracks > 0 {
		highest = min(highest, t.tracks-1)
	}
	if err := t.connect(ctx, t.Lane(highest)+1, highest+1); err != nil {
		return err
	}
	slots = append([]*Slot(nil), slots...)
	conns := *t.conns.Load()
	for i := len(slots); i < n; i++ {
		slots = append(slots, newSlot(t, conns[t.Lane(i)], t.track(i)))
	}
	t.slots.Store(&slots)
	return nil
}

// firstConnection dials once to learn how many streams the server allows on one connection.
func (t *Transport) firstConnection(ctx context.Context) error {
	n := newConnection(t)
	c, err := n.dial(ctx)
	if err = t.dialError(ctx, err); err != nil {
		return err
	}
	t.share = SlotsPerConnection
	if t.down = c == nil; !t.down {
		t.share = int(max(1, min(SlotsPerConnection, c.MaxStreams())))
	}
	t.conns.Store(&[]*connection{n})
	n.start(c)
	return nil
}

// dialError is the error of Grow after a failed dial. With LazyDial there is none unless ctx has ended.
func (t *Transport) dialError(ctx context.Context, err error) error {
	if err == nil || t.cfg.LazyDial && ctx.Err() == nil {
		return nil
	}
	return NotConnected(t.cfg.Failure(service.OpConnect, t.cfg.Addr, err))
}

// connect dials until there are enough connections for n tracks.
func (t *Transport) connect(ctx context.Context, want, n int) error {
	if k := t.cfg.Connections; k > 0 {
		want = min(k, n) // slots are assigned round-robin
	}
	conns := append([]*connection(nil), *t.conns.Load()...)
	defer func() { t.conns.Store(&conns) }()
	for len(conns) < want {
		one := newConnection(t)
		var c *h2.Conn
		if !t.down {
			var err error
			c, err = one.dial(ctx)
			if err = t.dialError(ctx, err); err != nil {
				return err
			}
		}
		one.start(c)
		conns = append(conns, one)
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
	if k := t.cfg.Connections; k > 0 {
		return i % k
	}
	return i / max(1, t.share)
}

// Send puts a call on the wire. Its times are taken before the call can be seen by the reader.
func (t *Transport) Send(c *service.Call) {
	now := clock.Now()
	s := (*t.slots.Load())[c.Slot]
	s.begin(c, now)
	s.on.send(s)
}

// Flush writes what was gathered on any connection since the last time.
func (t *Transport) Flush() {
	for _, n := range *t.conns.Load() {
		if n.dirty.Load() {
			n.dirty.Store(false)
			if c := n.conn.Load(); c != nil {
				c.Flush()
			}
		}
	}
}

// Cut ends the call in flight on the slot.
func (t *Transport) Cut(i int, class record.Class) {
	s := (*t.slots.Load())[i]
	s.on.cut(s, service.CutError(class, t.cfg.Addr, nil))
}

// Close cuts everything and waits for the connections.
func (t *Transport) Close() error {
	t.growing.Lock()
	defer t.growing.Unlock()
	t.cancel()
	for _, n := range *t.conns.Load() {
		n.close()
	}
	t.wg.Wait()
	return nil
}
