package null

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// loops are the threads that serve all connections: one for each processor the program may use.
type loops struct {
	all       []*loop
	next      atomic.Uint32
	listeners []net.Listener
	running   sync.WaitGroup
}

// loop is one thread with its connections. Reads and writes never block, so they bypass the runtime's handling of system calls;
// only a wait for events uses it.
type loop struct {
	epoll  int
	event  int // wakes the loop up
	mu     sync.Mutex
	fresh  []*link // accepted, not yet watched
	links  map[int32]*link
	closed atomic.Bool
	input  []byte
}

// link is one connection.
type link struct {
	fd      int
	session session
	rest    []byte // an incomplete request
	out     []byte // responses that the socket did not accept yet
	waiting bool   // for room in the socket
}

// maxOut limits the bytes that wait for a client that does not read; above it, the client's requests are not read either.
const maxOut = 8 << 20

func newLoops() (mover, error) {
	ls := &loops{}
	for range runtime.GOMAXPROCS(0) {
		l := &loop{links: map[int32]*link{}, input: make([]byte, 256<<10)}
		var err error
		if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
			return nil, err
		}
		if l.event, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
			return nil, err
		}
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.event, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(l.event)}); err != nil {
			return nil, err
		}
		ls.all = append(ls.all, l)
		ls.running.Go(l.run)
	}
	return ls, nil
}

// accept gives the connections of a listener to the loops in turn.
func (ls *loops) accept(l net.Listener, open func() session) {
	ls.listeners = append(ls.listeners, l)
	ls.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				if errors.Is(err, net.ErrClosed) {
					return
				}
				runtime.Gosched() // no descriptors left: some may come free
				continue
			}
			if fd, err := takeOver(c); err == nil {
				ls.all[int(ls.next.Add(1))%len(ls.all)].add(&link{fd: fd, session: open()})
			}
		}
	})
}

// takeOver removes a connection's socket from the runtime's poller.
func takeOver(c net.Conn) (int, error) {
	defer c.Close() // the duplicate stays open
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	fd := -1
	var dupErr error
	if err := raw.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return 0, err
	}
	if dupErr != nil {
		return 0, dupErr
	}
	return fd, unix.SetNonblock(fd, true)
}

func (ls *loops) close() {
	for _, l := range ls.listeners {
		_ = l.Close()
	}
	for _, l := range ls.all {
		l.closed.Store(true)
		l.wake()
	}
	ls.running.Wait()
	for _, l := range ls.all {
		_ = unix.Close(l.event)
	}
}

func (l *loop) wake() {
	one := [8]byte{1}
	_, _ = unix.Write(l.event, one[:]) // fails only when the event is already set
}

func (l *loop) add(c *link) {
	l.mu.Lock()
	l.fresh = append(l.fresh, c)
	l.mu.Unlock()
	l.wake()
}

func (l *loop) run() {
	events := make([]unix.EpollEvent, 512)
	for !l.closed.Load() {
		n := l.wait(events)
		for _, e := range events[:n] {
			if e.Fd == int32(l.event) {
				l.adopt()
				continue
			}
			if c := l.links[e.Fd]; c != nil {
				l.serve(c, e.Events)
			}
		}
	}
	l.adopt()
	for _, c := range l.links {
		_ = unix.Close(c.fd)
	}
	_ = unix.Close(l.epoll)
}

// wait searches for events without blocking first, which is cheap, and blocks only when there are none.
func (l *loop) wait(events []unix.EpollEvent) int {
	if n := pollNow(l.epoll, events); n > 0 {
		return n
	}
	runtime.Gosched() // the acceptors run on the same processor
	n, err := unix.EpollWait(l.epoll, events, -1)
	if err != nil {
		return 0
	}
	return n
}

func (l *loop) adopt() {
	var drop [8]byte
	_, _ = unix.Read(l.event, drop[:]) // only to clear the event
	l.mu.Lock()
	fresh := l.fresh
	l.fresh = nil
	l.mu.Unlock()
	for _, c := range fresh {
		l.links[int32(c.fd)] = c
		if unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, c.fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(c.fd)}) != nil {
			l.drop(c)
		}
	}
}

func (l *loop) drop(c *link) {
	delete(l.links, int32(c.fd))
	_ = unix.Close(c.fd)
}

// serve reads once, responds, and writes. Level-triggered events call it again if there is more.
func (l *loop) serve(c *link, events uint32) {
	if events&unix.EPOLLOUT != 0 || len(c.out) > 0 {
		if !l.write(c, nil) {
			return
		}
	}
	if len(c.out) > maxOut || events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR|unix.EPOLLRDHUP) == 0 {
		return
	}
	n := readNow(c.fd, l.input)
	if n == tryAgain {
		return
	}
	if n <= 0 {
		l.drop(c)
		return
	}
	in := l.input[:n]
	if len(c.rest) > 0 {
		c.rest = append(c.rest, in...)
		in = c.rest
	}
	used, out, err := c.session.consume(in, c.out)
	c.out = out
	c.rest = append(c.rest[:0], in[used:]...)
	if !l.write(c, err) {
		return
	}
}

// write sends what it can; false when the connection has gone. An error of the session ends it after that.
func (l *loop) write(c *link, failed error) bool {
	for len(c.out) > 0 {
		n := writeNow(c.fd, c.out)
		if n == tryAgain {
			break
		}
		if n <= 0 {
			l.drop(c)
			return false
		}
		if n == len(c.out) {
			c.out = c.out[:0]
			break
		}
		c.out = append(c.out[:0], c.out[n:]...)
	}
	if failed != nil {
		l.drop(c)
		return false
	}
	if wait := len(c.out) > 0; wait != c.waiting {
		c.waiting = wait
		l.watch(c)
	}
	return true
}

// watch tells the kernel what the connection waits for.
func (l *loop) watch(c *link) {
	events := uint32(unix.EPOLLIN | unix.EPOLLRDHUP)
	if c.waiting {
		events = unix.EPOLLOUT
	}
	_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_MOD, c.fd, &unix.EpollEvent{Events: events, Fd: int32(c.fd)})
}
