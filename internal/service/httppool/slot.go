package httppool

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/traceid"
	"github.com/redline-bench/redline/internal/wire/h1"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// slot is one connection with the goroutine that reads it.
//
// A sender, which is that goroutine inside of Done or any other, first publishes the call and then looks for
// the connection; the goroutine first takes the connection away and then looks for a call. So either the
// sender writes to a connection whose end the goroutine will notice with the call in hand, or it finds none
// and the goroutine finds the call. Between the two the sending flag keeps a call's end from overtaking the
// sender's last touch of it.
type slot struct {
	t       *Transport
	loop    *h1.Loop // nil: the goroutine reads
	cfg     h1.Config
	conn    atomic.Pointer[h1.Conn]      // nil: none
	call    atomic.Pointer[service.Call] // in flight; nil: idle
	sending atomic.Bool                  // a sender is at work on the call
	seq     atomic.Uint64                // number of calls so far
	cutting atomic.Uint64                // the call to cut, by number, and its class; see cut
	gone    atomic.Bool                  // the goroutine has ended
	wake    chan struct{}

	mu     sync.Mutex
	cancel context.CancelFunc // of the dialing under way

	// The sender's alone.
	writer bool // drain runs
	rest   chan leftover
	quit   chan struct{} // ends drain
	traced []byte        // the head of a request with a traceparent

	// The goroutine's alone.
	cur      *h1.Conn
	ex       Exchange
	streams  bool  // the reply at hand is handed on piece by piece
	refusals int   // dials that failed in a row
	retried  error // why the call is being sent a second time
}

// leftover is what the kernel did not take at once of a large request.
type leftover struct {
	conn       *h1.Conn
	call       *service.Call
	head, body []byte
}

func newSlot(t *Transport, i int) *slot {
	s := &slot{t: t, loop: t.loopOf(i), cfg: t.cfg.From(i), ex: t.exchange(), wake: make(chan struct{}, 1), rest: make(chan leftover), quit: make(chan struct{})}
	if x, ok := s.ex.(Interruptible); ok {
		x.Interrupted(func() bool {
			_, cut := s.cutAs()
			return cut
		})
	}
	return s
}

// send puts a call on the wire, or leaves it to the goroutine when there is no connection.
func (s *slot) send(c *service.Call) {
	c.Rec.Sent = clock.Now()
	c.Rec.Written = 0
	c.Rec.Flags &^= record.Resent
	s.sending.Store(true)
	s.seq.Add(1)
	s.call.Store(c)
	if conn := s.conn.Load(); conn != nil {
		s.write(conn, c)
		return
	}
	s.sending.Store(false)
	if s.gone.Load() && s.call.CompareAndSwap(c, nil) {
		s.report(c, service.ErrCanceled)
		return
	}
	s.poke()
}

func (s *slot) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// write writes what the kernel takes at once. A large rest is left to the connection's loop, or to a second
// goroutine where it has none: a sender must not wait, and the reader must go on reading, in case the server
// answers before it has read everything.
func (s *slot) write(conn *h1.Conn, c *service.Call) {
	head, body, size := s.ex.Render(c)
	c.Rec.Out = uint64(size)
	if id, ok := s.t.tracing.Send(uint32(c.Slot), c.Rec.Sent); ok {
		s.traced = appendTraced(s.traced[:0], head, id)
		head = s.traced
	}
	head, body, later, err := conn.TryWrite(head, body)
	if later {
		return // Drained follows
	}
	if err != nil || len(head)+len(body) == 0 {
		s.wrote(conn, c, err)
		return
	}
	if !s.writer {
		s.writer = true
		s.t.wg.Go(s.drain)
	}
	select {
	case s.rest <- leftover{conn, c, head, body}:
	case <-s.quit:
		s.wrote(conn, c, nil)
	}
}

// appendTraced appends a request with a traceparent after the request line.
func appendTraced(b, head []byte, id traceid.ID) []byte {
	line := bytes.IndexByte(head, '\n') + 1
	b = append(b, head[:line]...)
	b = append(b, "traceparent: "...)
	b = append(id.AppendParent(b), "\r\n"...)
	return append(b, head[line:]...)
}

func (s *slot) drain() {
	for {
		select {
		case l := <-s.rest:
			s.wrote(l.conn, l.call, l.conn.Write(l.head, l.body))
		case <-s.quit:
			return
		}
	}
}

// wrote ends a send. It does not report a failed write: the reader sees the end of the connection too, and perhaps the
// server's reason before it.
func (s *slot) wrote(conn *h1.Conn, c *service.Call, err error) {
	if err != nil && neterr.KindOf(err) == neterr.Lost {
		conn.Break()
	}
	c.Rec.Written = clock.Now()
	s.sending.Store(false)
}

// Drained ends a send whose rest was left to the loop.
func (s *slot) Drained(err error) { s.wrote(s.cur, s.call.Load(), err) }

// settle waits until the sender no longer touches the call. Usually it is done already, or needs a few instructions more. Where
// the server answers without reading all of a large request, the sender would wait for ever: then the connection is broken.
func (s *slot) settle() {
	const yields, pause, pauses = 100, 100 * time.Microsecond, 200
	for i := 0; s.sending.Load(); i++ {
		if s.cur != nil {
			s.cur.Abandon()
		}
		if i < yields {
			runtime.Gosched()
			continue
		}
		if i == yields+pauses && s.cur != nil {
			s.cur.Break()
		}
		time.Sleep(pause)
	}
}

// cut ends the call in flight, by its number, so that a cut that comes too late does not hit the next one.
func (s *slot) cut(class record.Class) {
	if s.call.Load() == nil {
		return
	}
	s.cutting.Store(s.seq.Load()<<8 | uint64(class))
	s.interrupt()
}

// interrupt wakes the goroutine from whatever it waits for.
func (s *slot) interrupt() {
	s.mu.Lock()
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Unlock()
	if conn := s.conn.Load(); conn != nil {
		conn.Break()
	}
	s.poke()
}

// cutAs gives the class with which the call in flight was cut.
func (s *slot) cutAs() (record.Class, bool) {
	v := s.cutting.Load()
	return record.Class(v), v != 0 && v>>8 == s.seq.Load()
}

// run is the slot's goroutine.
func (s *slot) run(ctx context.Context) {
	defer s.leave()
	for !s.t.closed() {
		conn := s.conn.Load()
		if conn == nil {
			if !s.await() || !s.connect(ctx) {
				continue
			}
			conn = s.conn.Load()
		}
		if s.t.closed() {
			return
		}
		s.cur = conn
		err := conn.Serve(s)
		s.conn.Store(nil)
		s.lost(conn, err)
		s.cur = nil
	}
}

// await waits for a call while there is no connection. It returns false when the transport closes.
func (s *slot) await() bool {
	for s.call.Load() == nil {
		select {
		case <-s.wake:
		case <-s.t.closing:
			return false
		}
	}
	return true
}

// lost deals with the end of a connection.
func (s *slot) lost(conn *h1.Conn, err error) {
	c := s.call.Load()
	if c != nil {
		s.settle()
	}
	stale := !conn.Started() && conn.Exchanges() > 0
	_ = conn.Close() // it is lost already
	if c == nil || c.Rec.Written == 0 {
		return // idle, or the call has not been on this connection
	}
	if err == nil { // we dropped the connection ourselves, and a sender was quicker than we
		err = &neterr.Error{Kind: neterr.Broken, Addr: s.t.cfg.Addr}
	}
	kind := neterr.KindOf(err)
	told := s.streams // parts of the answer were reported: they cannot be taken back
	s.streams = false
	switch class, cut := s.cutAs(); {
	case cut:
		s.fail(c, service.CutError(class, s.t.cfg.Addr, err))
	case s.retried == nil && !told && (kind == neterr.Broken || stale && (kind == neterr.Closed || kind == neterr.Reset)):
		// The server closed an idle connection just as the request was written, or a cut meant for an earlier call came
		// late. The request is sent once more.
		s.retried = err
		c.Rec.Written = 0
		c.Rec.Flags |= record.Resent
	default:
		s.fail(c, Failure(service.OpInfer, s.t.cfg.Addr, err))
	}
}

// connect dials for the call in hand and writes it. It returns false when the call has ended instead.
func (s *slot) connect(ctx context.Context) bool {
	s.settle()
	c := s.call.Load()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	s.cancel = cancel
	s.mu.Unlock()
	if class, cut := s.cutAs(); cut {
		s.fail(c, service.CutError(class, s.t.cfg.Addr, nil))
		return false
	}
	s.pause(ctx, c)
	conn, err := s.dial(ctx)
	if err == nil {
		s.conn.Store(conn)
	}
	class, cut := s.cutAs()
	switch {
	case cut && err == nil: // the dial was not stopped in time: the connection is new and can be used
		s.fail(c, service.CutError(class, s.t.cfg.Addr, nil))
		return true
	case cut, s.t.closed():
		if !cut {
			class = record.Canceled
		}
		s.fail(c, service.CutError(class, s.t.cfg.Addr, err))
		return false
	case err != nil:
		s.refusals++
		if s.retried != nil {
			err = s.retried // the request was written before: report what happened to it then
		}
		s.fail(c, Failure(service.OpInfer, s.t.cfg.Addr, err))
		return false
	}
	s.refusals = 0
	s.sending.Store(true)
	s.write(conn, c)
	return true
}

func (s *slot) dial(ctx context.Context) (*h1.Conn, error) {
	if s.loop == nil {
		return h1.Dial(ctx, s.cfg)
	}
	return s.loop.Dial(ctx, s.cfg)
}

// pause waits before dialing again after failed dials. The request's time starts after the wait, which is not the server's.
func (s *slot) pause(ctx context.Context, c *service.Call) {
	if s.refusals == 0 {
		return
	}
	clock.Sleep(ctx, s.t.backoff(s.refusals))
	c.Rec.Sent = clock.Now()
}

// leave ends the goroutine: what is in flight is canceled.
func (s *slot) leave() {
	if conn := s.conn.Swap(nil); conn != nil {
		conn.Break()
		s.settle()
		_ = conn.Close() // nothing is in flight on it any more
	}
	s.settle()
	s.gone.Store(true)
	close(s.quit)
	if x, ok := s.ex.(io.Closer); ok {
		_ = x.Close() // it frees memory, which cannot fail
	}
	if c := s.call.Swap(nil); c != nil {
		s.report(c, service.ErrCanceled)
	}
}
