package h1

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/wire/arrival"
	"github.com/redline-bench/redline/internal/wire/sys"
)

// socket is a connection's descriptor, where a loop serves it.
type socket struct {
	loop   *Loop
	number int32      // by which the loop knows it
	ended  chan error // how Serve ends
	noted  bool       // the kernel notes when bytes come
	line   arrival.Line

	mu     sync.Mutex // for Break, which may come at any time
	fd     int
	closed bool
	broken atomic.Bool

	state atomic.Uint32 // of a long write; see tryWrite
	rest  [2][]byte     // what is left of it: the writer's until the state is pending, then the loop's
}

// States of a long write.
const (
	idle    = iota
	sending // a sender is at work
	ready   // meanwhile the kernel has said that there is room again
	pending // the loop goes on with it
	over    // the connection is not served any more
)

// Drainer is a Handler that is told the end of a write that TryWrite left to the loop.
type Drainer interface{ Drained(err error) }

func (c *Conn) serveLoop() error {
	c.sock.state.CompareAndSwap(over, idle)
	if err := c.sock.loop.add(c); err != nil {
		return c.readError(err)
	}
	return <-c.sock.ended
}

// readable reads what there is and returns true at the end of Serve.
//
// A short read has taken all there was: what comes later, data or a close, is an edge of its own. Only a close that
// came with the data makes none, so that closing, which the kernel tells with the event, has us read to the end. It
// is not enough to have written the next request: a server may close its side and still take in, unread, what it
// will never answer, and no reset would tell.
func (c *Conn) readable(closing bool) bool {
	for {
		b := c.rd.space()
		n, at, late, err := c.sock.read(b)
		switch {
		case n > 0:
			if c.err = c.take(n, at, late); c.err != nil || c.stop {
				return true
			}
			if n < len(b) && !closing {
				return false
			}
		case err == 0:
			c.cause = c.because(io.EOF)
			return true
		case err == syscall.EAGAIN:
			return false
		case err != syscall.EINTR:
			c.cause = c.because(err)
			return true
		}
	}
}

// read reads what there is, and tells when it came and how long it lay unread, as far as that is known.
func (s *socket) read(b []byte) (n int, at, late int64, err syscall.Errno) {
	var note int64
	if s.noted {
		n, note, err = arrival.Recv(s.fd, b)
	} else {
		n, err = sys.Read(s.fd, b)
	}
	switch {
	case n <= 0:
		return n, 0, 0, err
	case !s.noted:
		return n, clock.Now(), 0, 0
	}
	now := s.loop.scale.Look()
	at = s.line.Time(&s.loop.scale, s.fd, note, now)
	return n, at, now - at, err
}

// because is why a read or write failed: by Break rather than by what Break made of the socket.
func (c *Conn) because(err error) error {
	if c.sock.broken.Load() {
		return os.ErrDeadlineExceeded
	}
	return err
}

func (c *Conn) endOfServe() error {
	switch {
	case c.err != nil:
		return c.err
	case c.cause != nil:
		return c.finish(c.cause)
	}
	return nil
}

// push writes what the kernel takes at once and returns what it left.
func (c *Conn) push(head, body []byte) (restHead, restBody []byte, err error) {
	for {
		n, e := sys.Write(c.sock.fd, head, body)
		switch {
		case e == 0 && n >= len(head):
			return nil, body[n-len(head):], nil
		case e == 0:
			return head[n:], body, nil
		case e == syscall.EAGAIN:
			return head, body, nil
		case e != syscall.EINTR:
			return nil, nil, c.writeError(c.because(e))
		}
	}
}

// tryWrite writes a request, and leaves what the kernel does not take at once to the loop.
//
// The kernel tells once when there is room again, perhaps while the sender is still here: then the state says so,
// and the sender tries again.
func (c *Conn) tryWrite(head, body []byte) (later bool, err error) {
	head, body, err = c.push(head, body)
	s := c.sock
	for len(head)+len(body) > 0 && err == nil {
		if !s.state.CompareAndSwap(idle, sending) && !s.state.CompareAndSwap(ready, sending) {
			return false, c.writeError(os.ErrDeadlineExceeded)
		}
		if head, body, err = c.push(head, body); len(head)+len(body) == 0 {
			if !s.state.CompareAndSwap(sending, idle) {
				s.state.CompareAndSwap(ready, idle)
			}
			break
		}
		s.rest = [2][]byte{head, body}
		if s.state.CompareAndSwap(sending, pending) {
			return true, nil
		}
	}
	return false, err
}

// writeOn is called by the loop when there is room again.
func (c *Conn) writeOn() {
	s := c.sock
	if s.state.CompareAndSwap(sending, ready) || s.state.Load() != pending {
		return
	}
	head, body, err := c.push(s.rest[0], s.rest[1])
	s.rest = [2][]byte{head, body}
	if err == nil && len(head)+len(body) > 0 {
		return
	}
	s.rest = [2][]byte{}
	s.state.Store(idle)
	c.rd.h.(Drainer).Drained(err)
}

// endWrite ends writing at the end of Serve, and gives up a write that the loop had to finish.
func (c *Conn) endWrite() {
	if c.sock.state.Swap(over) == pending {
		c.giveUpWrite()
	}
}

func (c *Conn) giveUpWrite() {
	c.sock.rest = [2][]byte{}
	c.rd.h.(Drainer).Drained(c.writeError(os.ErrDeadlineExceeded))
}

// Abandon gives up the writing of a request whose reply has come before all of it was written: the connection
// ends with the reply. Where nothing is left to the loop the connection stays as it is. Only a handler may call it.
func (c *Conn) Abandon() {
	if c.sock != nil && c.sock.state.CompareAndSwap(pending, over) {
		c.giveUpWrite()
		c.rd.reply.Close = true
	}
}

// shut makes every read and write fail.
func (s *socket) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken.Store(true)
	if !s.closed {
		_ = unix.Shutdown(s.fd, unix.SHUT_RDWR) // it can only fail where the connection has ended by itself
	}
}

func (s *socket) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("closed twice")
	}
	s.closed = true
	return unix.Close(s.fd)
}
