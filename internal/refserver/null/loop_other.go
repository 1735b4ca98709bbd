//go:build !linux

package null

import (
	"errors"
	"net"
	"sync"
)

// loops serves each connection in a goroutine, where the system has no epoll.
type loops struct {
	mu        sync.Mutex
	listeners []net.Listener
	conns     map[net.Conn]bool
	running   sync.WaitGroup
}

func newLoops() (*loops, error) { return &loops{conns: map[net.Conn]bool{}}, nil }

func (ls *loops) accept(l net.Listener, open func() session) {
	ls.listeners = append(ls.listeners, l)
	ls.running.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				ls.mu.Lock()
				ls.conns[c] = true
				ls.mu.Unlock()
				ls.running.Go(func() { ls.serve(c, open()) })
			}
		}
	})
}

func (ls *loops) serve(c net.Conn, s session) {
	defer func() {
		_ = c.Close()
		ls.mu.Lock()
		delete(ls.conns, c)
		ls.mu.Unlock()
	}()
	buf := make([]byte, 64<<10)
	var rest, out []byte
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		rest = append(rest, buf[:n]...)
		used, answer, err := s.consume(rest, out[:0])
		rest = append(rest[:0], rest[used:]...)
		out = answer
		if len(out) > 0 {
			if _, errWrite := c.Write(out); errWrite != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (ls *loops) close() {
	for _, l := range ls.listeners {
		_ = l.Close()
	}
	ls.mu.Lock()
	for c := range ls.conns {
		_ = c.Close()
	}
	ls.mu.Unlock()
	ls.running.Wait()
}
