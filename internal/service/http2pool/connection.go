package http2pool

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// connection is one connection of the pool, and its successors after it was lost. Ends of its calls are reported one at a
// time: the goroutines of an h2.Conn that drains and of the one that replaces it share the lock.
type connection struct {
	t        *Transport
	lock     sync.Mutex // held while ends are reported
	conn     atomic.Pointer[h2.Conn]
	dirty    atomic.Bool // something may wait for Flush
	busy     atomic.Int64
	answered uint64 // under lock: calls that the server answered; an increase means that the connection works

	mu      sync.Mutex
	open    map[*h2.Conn]*state
	waiting []*Slot // calls without a connection
	closed  bool
	fails   int // attempts to connect since a connection worked
}

// state is what is known of one h2.Conn.
type state struct {
	replaced bool // another one takes the calls already
	ends     uint64
}

func newConnection(t *Transport) *connection {
	return &connection{t: t, open: make(map[*h2.Conn]*state)}
}

func (n *connection) dial(ctx context.Context) (*h2.Conn, error) {
	cfg := n.t.cfg.Wire()
	cfg.Lock, cfg.Busy = &n.lock, &n.busy
	var c *h2.Conn
	made := make(chan struct{}) // the server may leave before Dial has returned
	cfg.OnDrain = func() {
		<-made
		if c != nil {
			n.replace(c)
		}
	}
	c, err := h2.Dial(ctx, cfg)
	close(made)
	return c, err
}

// start reads the first h2.Conn; nil goes on trying to make one.
func (n *connection) start(c *h2.Conn) {
	if c == nil {
		n.t.wg.Go(func() { n.run(n.redial(&state{}, false)) })
		return
	}
	n.attach(c)
	n.t.wg.Go(func() { n.run(c) })
}

// run reads c until it ends, then connects again, until the connection is closed or another goroutine has taken over.
func (n *connection) run(c *h2.Conn) {
	for c != nil {
		_ = c.Serve() // its calls have the reason
		n.conn.CompareAndSwap(c, nil)
		n.mu.Lock()
		k := n.open[c]
		delete(n.open, c)
		over := n.closed || k.replaced
		n.mu.Unlock()
		_ = c.Close()
		if over {
			return
		}
		c = n.redial(k, false)
	}
}

// replace lets a new h2.Conn take the calls while c drains.
func (n *connection) replace(c *h2.Conn) {
	n.conn.CompareAndSwap(c, nil)
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.open[c]
	if k == nil || k.replaced || n.closed {
		return // gone already: its own goroutine makes the new one
	}
	k.replaced = true
	n.t.wg.Go(func() { n.run(n.redial(k, true)) })
}

// redial reconnects with exponential back-off, which resets after a working connection. atOnce skips the first wait if
// the lost connection had worked: the server closed it with GOAWAY. Calls that wait fail with each failed attempt. It returns nil when the
// connection is closed.
func (n *connection) redial(k *state, atOnce bool) *h2.Conn {
	n.lock.Lock()
	worked := n.answered > k.ends
	n.lock.Unlock()
	if worked {
		n.fails = 0
	}
	for atOnce = atOnce && worked; ; atOnce = false {
		if !atOnce && !n.pause() {
			return nil
		}
		c, err := n.dial(n.t.ctx)
		if err == nil {
			n.attach(c)
			return c
		}
		n.failWaiting(NotConnected(n.t.cfg.Failure(service.OpInfer, n.t.cfg.Addr, err)))
	}
}

// pause waits before the next attempt. It returns false when the connection is closed.
func (n *connection) pause() bool {
	n.fails++
	return clock.Sleep(n.t.ctx, service.Backoff(n.fails))
}

// attach lets c take the calls, first those that waited.
func (n *connection) attach(c *h2.Conn) {
	n.lock.Lock()
	ends := n.answered
	n.lock.Unlock()
	n.mu.Lock()
	n.open[c] = &state{ends: ends}
	if n.closed {
		_ = c.Close()
	} else {
		n.conn.Store(c)
	}
	waiting := n.waiting
	n.waiting = nil
	n.mu.Unlock()
	for _, s := range waiting {
		n.send(s)
	}
	c.Flush()
}

// send puts the slot's call onto the connection, or lets it wait for one.
func (n *connection) send(s *Slot) {
	for {
		c := n.conn.Load()
		if c != nil && s.open(c) {
			if !n.dirty.Load() {
				n.dirty.Store(true)
			}
			return
		}
		if n.park(s, c) {
			return
		}
	}
}

// park lets the call wait for another h2.Conn than c. It returns false when there is one by now.
func (n *connection) park(s *Slot, c *h2.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.conn.Load(); now != nil && now != c {
		return false
	}
	if n.closed {
		n.t.wg.Go(func() { n.end(s, service.ErrCanceled) })
		return true
	}
	n.waiting = append(n.waiting, s)
	return true
}

// cut ends the call of a slot, whether it waits or was sent.
func (n *connection) cut(s *Slot, cause *service.Error) {
	n.mu.Lock()
	for i, w := range n.waiting {
		if w == s {
			n.waiting = append(n.waiting[:i], n.waiting[i+1:]...)
			n.mu.Unlock()
			// On a goroutine of its own: the caller may hold the lock, inside of another call's end.
			n.t.wg.Go(func() { n.end(s, cause) })
			return
		}
	}
	n.mu.Unlock()
	s.sender.Cancel(cause)
}

// end reports a call that was never sent.
func (n *connection) end(s *Slot, err *service.Error) {
	n.lock.Lock()
	defer n.lock.Unlock()
	s.Finish(err, clock.Now())
}

// failWaiting ends the calls that waited for a connection which could not be made.
func (n *connection) failWaiting(err *service.Error) {
	n.mu.Lock()
	waiting := n.waiting
	n.waiting = nil
	if n.closed {
		err = service.ErrCanceled
	}
	n.mu.Unlock()
	n.lock.Lock()
	defer n.lock.Unlock()
	now := clock.Now()
	for _, s := range waiting {
		s.Finish(err, now)
	}
}

// close ends the connection; its goroutines end by themselves.
func (n *connection) close() {
	n.mu.Lock()
	n.closed = true
	conns := make([]*h2.Conn, 0, len(n.open))
	for c := range n.open {
		conns = append(conns, c)
	}
	n.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
	n.failWaiting(service.ErrCanceled)
}
