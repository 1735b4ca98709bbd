package null

import (
	"errors"
	"net"
	"sync"
)

// pool serves each connection in a goroutine, for systems without epoll and for TLS.
type pool struct {
	mu        sync.Mutex
	listeners []net.Listener
	conns     map[net.Conn]bool
	running   sync.WaitGroup
}

func newPool() *pool { return &pool{conns: map[net.Conn]bool{}} }

func (p *pool) accept(l net.Listener, open func() session) {
	p.listeners = append(p.listeners, l)
	p.running.Go(func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				p.mu.Lock()
				p.conns[c] = true
				p.mu.Unlock()
				p.running.Go(func() { p.serve(c, open()) })
			}
		}
	})
}

func (p *pool) serve(c net.Conn, s session) {
	defer func() {
		_ = c.Close()
		p.mu.Lock()
		delete(p.conns, c)
		p.mu.Unlock()
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

func (p *pool) close() {
	for _, l := range p.listeners {
		_ = l.Close()
	}
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}
