package testkit

import (
	"net"
	"sync"

	"github.com/redline-bench/redline/internal/clock"
)

// Writes is a listener whose connections log when the server's bytes went to the kernel. On loopback the client's kernel
// has them, and has noted their arrival, when the write returns.
type Writes struct {
	net.Listener

	mu   sync.Mutex
	more sync.Cond
	list []Write
}

// Write is one write of a server. Times are readings of clock.Now.
type Write struct {
	Begun, Ended int64
	Total        int // bytes of this write and all before it, on all connections
}

// LogWrites logs what is written to the connections of a listener.
func LogWrites(ln net.Listener) *Writes {
	w := &Writes{Listener: ln}
	w.more.L = &w.mu
	return w
}

// Accept implements net.Listener.
func (w *Writes) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &loggedConn{c, w}, nil
}

// Total is the number of bytes written so far.
func (w *Writes) Total() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total()
}

func (w *Writes) total() int {
	if len(w.list) == 0 {
		return 0
	}
	return w.list[len(w.list)-1].Total
}

// Await waits until n bytes have been written in all, and returns the write that brought the last of them.
func (w *Writes) Await(n int) Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.total() < n {
		w.more.Wait()
	}
	i := len(w.list) - 1
	for i > 0 && w.list[i-1].Total >= n {
		i--
	}
	return w.list[i]
}

type loggedConn struct {
	net.Conn
	log *Writes
}

func (c *loggedConn) Write(b []byte) (int, error) {
	begun := clock.Now()
	n, err := c.Conn.Write(b)
	ended := clock.Now()
	w := c.log
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, Write{begun, ended, w.total() + n})
	w.more.Broadcast()
	return n, err
}
