package grpclane

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/wire/h2"
)

// lane is one connection, and its successors. Ends of its calls are reported one at a time: the goroutines of
// a connection that drains and of the one that replaces it share the lock.
type lane struct {
	t     *Transport
	lock  sync.Mutex // held while ends are reported
	conn  atomic.Pointer[h2.Conn]
	dirty atomic.Bool // something may wait for Flush
	ends  uint64      // under lock: calls that the server answered, to tell a working connection

	mu      sync.Mutex
	links   map[*h2.Conn]*link
	waiting []*Slot // calls without a connection
	closed  bool
	fails   int // attempts to connect since a connection worked
}

// link is the state of one connection of the lane.
type link struct {
	replaced bool // another one takes the calls already
	ends     uint64
}

func newLane(t *Transport) *lane {
	return &lane{t: t, links: make(map[*h2.Conn]*link)}
}

func (l *lane) dial(ctx context.Context) (*h2.Conn, error) {
	cfg := l.t.srv.config()
	cfg.Arrival, cfg.Lock = l.t.srv.arrivals, &l.lock
	var c *h2.Conn
	made := make(chan struct{}) // the server may leave before Dial has returned
	cfg.OnDrain = func() {
		<-made
		if c != nil {
			l.replace(c)
		}
	}
	c, err := h2.Dial(ctx, cfg)
	close(made)
	return c, l.t.srv.explain(err)
}

// start runs the lane on its first connection; nil lets it go on trying to make one.
func (l *lane) start(c *h2.Conn) {
	if c == nil {
		l.t.wg.Go(func() { l.run(l.redial(&link{}, false)) })
		return
	}
	l.attach(c)
	l.t.wg.Go(func() { l.run(c) })
}

// run reads the connection until it ends, then makes it again, until the lane is closed or another goroutine
// has taken over.
func (l *lane) run(c *h2.Conn) {
	for c != nil {
		_ = c.Serve() // its calls have the reason
		l.conn.CompareAndSwap(c, nil)
		l.mu.Lock()
		k := l.links[c]
		delete(l.links, c)
		over := l.closed || k.replaced
		l.mu.Unlock()
		_ = c.Close()
		if over {
			return
		}
		c = l.redial(k, false)
	}
}

// replace lets a new connection take the calls while c drains.
func (l *lane) replace(c *h2.Conn) {
	l.conn.CompareAndSwap(c, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.links[c]
	if k == nil || k.replaced || l.closed {
		return // gone already: its own goroutine makes the new one
	}
	k.replaced = true
	l.t.wg.Go(func() { l.run(l.redial(k, true)) })
}

// redial connects again, with a growing wait between attempts; it starts small again once a connection has
// worked, and asked for is a new one at once where the server left such a connection in good order (now).
// Calls that wait meanwhile fail with each failed attempt. It returns nil when the lane is closed.
func (l *lane) redial(k *link, now bool) *h2.Conn {
	l.lock.Lock()
	worked := l.ends > k.ends
	l.lock.Unlock()
	if worked {
		l.fails = 0
	}
	for now = now && worked; ; now = false {
		if !now && !l.pause() {
			return nil
		}
		c, err := l.dial(l.t.ctx)
		if err == nil {
			l.attach(c)
			return c
		}
		l.failWaiting(notConnected(service.OpInfer, l.t.srv.addr, err))
	}
}

// pause waits before the next attempt. It returns false when the lane is closed.
func (l *lane) pause() bool {
	l.fails++
	timer := time.NewTimer(service.Backoff(l.fails))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.t.ctx.Done():
		return false
	}
}

// attach makes c the connection of the lane and sends the calls that waited for one.
func (l *lane) attach(c *h2.Conn) {
	l.lock.Lock()
	ends := l.ends
	l.lock.Unlock()
	l.mu.Lock()
	l.links[c] = &link{ends: ends}
	if l.closed {
		_ = c.Close()
	} else {
		l.conn.Store(c)
	}
	waiting := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	for _, s := range waiting {
		l.send(s)
	}
	c.Flush()
}

// send puts the slot's call onto the connection, or lets it wait for one.
func (l *lane) send(s *Slot) {
	for {
		c := l.conn.Load()
		if c != nil && s.open(c) {
			if !l.dirty.Load() {
				l.dirty.Store(true)
			}
			return
		}
		if l.park(s, c) {
			return
		}
	}
}

// park lets the call wait for a connection other than c. It returns false when there is one by now.
func (l *lane) park(s *Slot, c *h2.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.conn.Load(); now != nil && now != c {
		return false
	}
	if l.closed {
		l.t.wg.Go(func() { l.end(s, service.ErrCanceled) })
		return true
	}
	l.waiting = append(l.waiting, s)
	return true
}

// cut ends the call of a slot, wherever it is.
func (l *lane) cut(s *Slot, cause *service.Error) {
	l.mu.Lock()
	for i, w := range l.waiting {
		if w == s {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			l.mu.Unlock()
			// On a goroutine of its own: the caller may hold the lock, inside of another call's end.
			l.t.wg.Go(func() { l.end(s, cause) })
			return
		}
	}
	l.mu.Unlock()
	s.way.Cancel(cause)
}

// end reports a call that never reached a connection.
func (l *lane) end(s *Slot, err *service.Error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	s.Finish(err, clock.Now())
}

// failWaiting ends the calls that waited for a connection which could not be made.
func (l *lane) failWaiting(err *service.Error) {
	l.mu.Lock()
	waiting := l.waiting
	l.waiting = nil
	if l.closed {
		err = service.ErrCanceled
	}
	l.mu.Unlock()
	l.lock.Lock()
	defer l.lock.Unlock()
	now := clock.Now()
	for _, s := range waiting {
		s.Finish(err, now)
	}
}

// close ends the lane; its goroutines end by themselves.
func (l *lane) close() {
	l.mu.Lock()
	l.closed = true
	conns := make([]*h2.Conn, 0, len(l.links))
	for c := range l.links {
		conns = append(conns, c)
	}
	l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
	l.failWaiting(service.ErrCanceled)
}
