package h1

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/redline-bench/redline/internal/wire/arrival"
	"github.com/redline-bench/redline/internal/wire/neterr"
	"github.com/redline-bench/redline/internal/wire/sys"
)

// Loop serves many connections on one goroutine: it asks the kernel which of them have something, and reads,
// parses, reports and writes for one after the other. Compared with a goroutine a connection this saves the
// scheduler's work for each reply, which costs as much as all of our own.
//
// The kernel is asked through an epoll instance of the loop's own. That instance itself is known to the runtime's
// poller, so that a loop with nothing to do rests like any goroutine and holds no thread.
type Loop struct {
	file   *os.File // the epoll instance
	ep     int
	ended  chan struct{} // closed when the goroutine has ended
	events [maxEvents]unix.EpollEvent
	batch  [maxEvents]*Conn
	scale  arrival.Scale // the loop's alone

	mu    sync.Mutex
	conns []*Conn // by the number that their events carry
	free  []int32 // numbers that are not in use
}

// maxEvents is how many ready connections are taken up at a time.
const maxEvents = 128

// NewLoop starts a loop. Close ends it.
func NewLoop() (*Loop, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if err := unix.SetNonblock(ep, true); err != nil { // so that the runtime's poller takes it
		_ = unix.Close(ep) // nothing is lost
		return nil, fmt.Errorf("epoll: %w", err)
	}
	l := &Loop{file: os.NewFile(uintptr(ep), "epoll"), ep: ep, ended: make(chan struct{})}
	raw, err := l.file.SyscallConn()
	if err != nil {
		_ = l.file.Close() // nothing is lost
		return nil, fmt.Errorf("epoll: %w", err)
	}
	go func() {
		defer close(l.ended)
		_ = raw.Read(l.turn) // it ends with Close
	}()
	return l, nil
}

// Close ends the loop. No connection may be served by it any more.
func (l *Loop) Close() error {
	_ = l.file.SetReadDeadline(longAgo) // wakes the goroutine
	<-l.ended
	return l.file.Close()
}

// Dial connects like Dial of the package, and has the connection served by the loop.
func (l *Loop) Dial(ctx context.Context, cfg Config) (*Conn, error) {
	c, err := Dial(ctx, cfg)
	if err != nil || cfg.TLS != nil {
		return c, err
	}
	// The runtime's poller must not see the socket, or it would be woken at each reply too: a copy of the
	// descriptor goes on, and the original is closed.
	fd, err := copyOf(c.nc)
	_ = c.nc.Close() // the copy keeps the connection
	if err != nil {
		return nil, neterr.Dial(cfg.Addr, err)
	}
	c.nc, c.sock = nil, &socket{loop: l, fd: fd, ended: make(chan error, 1)}
	c.sock.noted = cfg.Arrival && arrival.Enable(fd)
	return c, nil
}

func copyOf(nc net.Conn) (fd int, err error) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return 0, errors.New("the connection has no descriptor")
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0, err
	}
	if e := raw.Control(func(orig uintptr) { fd, err = unix.FcntlInt(orig, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return 0, e
	}
	return fd, err
}

// add makes the loop serve a connection. The kernel tells of each change once, so that no request needs a call
// to set up its wake-up.
func (l *Loop) add(c *Conn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free); n > 0 {
		c.sock.number, l.free = l.free[n-1], l.free[:n-1]
		l.conns[c.sock.number] = c
	} else {
		c.sock.number = int32(len(l.conns))
		l.conns = append(l.conns, c)
	}
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff, Fd: c.sock.number}
	if err := unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, c.sock.fd, &ev); err != nil {
		l.release(c)
		return err
	}
	return nil
}

// release forgets a connection. The caller holds the lock.
func (l *Loop) release(c *Conn) {
	l.conns[c.sock.number] = nil
	l.free = append(l.free, c.sock.number)
}

// turn is called by the runtime's poller when a connection is ready, and handles what there is. It returns false
// to wait for more.
func (l *Loop) turn(uintptr) bool {
	for {
		n := sys.EpollReady(l.ep, l.events[:])
		if n <= 0 {
			return false
		}
		l.mu.Lock()
		for i := range n {
			l.batch[i] = l.conns[l.events[i].Fd]
		}
		l.mu.Unlock()
		for i := range n {
			if c := l.batch[i]; c != nil {
				l.handle(c, l.events[i].Events)
			}
		}
	}
}

func (l *Loop) handle(c *Conn, events uint32) {
	if events&unix.EPOLLOUT != 0 && c.sock.state.Load() != idle {
		c.writeOn()
	}
	const ends = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if events&^unix.EPOLLOUT == 0 || !c.readable(events&ends != 0) {
		return
	}
	_ = unix.EpollCtl(l.ep, unix.EPOLL_CTL_DEL, c.sock.fd, nil) // it is open until Serve has returned
	l.mu.Lock()
	l.release(c)
	l.mu.Unlock()
	c.endWrite()
	c.sock.ended <- c.endOfServe()
}

// latePort has the kernel choose the port of a connection from a given address when it connects: so the same port
// may serve for several servers.
func latePort(_, _ string, raw syscall.RawConn) error {
	var err error
	if e := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1) }); e != nil {
		return e
	}
	if errors.Is(err, unix.ENOPROTOOPT) { // an old kernel: the port is chosen earlier
		return nil
	}
	return err
}
