package suite

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/testkit"
)

// proxy passes bytes to a server, and can die and come back in its place, at the same address.
type proxy struct {
	t      *testing.T
	addr   string
	server string

	mu    sync.Mutex
	more  sync.Cond    // something was passed to the server
	ln    net.Listener // nil: dead
	conns map[net.Conn]bool
	sent  int // bytes passed to the server
	wg    sync.WaitGroup
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	p := &proxy{t: t, server: server, addr: testkit.Port(t), conns: map[net.Conn]bool{}}
	p.more.L = &p.mu
	p.revive()
	t.Cleanup(func() {
		p.kill()
		p.wg.Wait()
	})
	return p
}

// revive listens, again or for the first time.
func (p *proxy) revive() {
	p.t.Helper()
	ln := testkit.Listen(p.t, p.addr)
	p.mu.Lock()
	p.ln = ln
	p.mu.Unlock()
	p.wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.carry(in, ln) })
		}
	})
}

// kill closes everything at once.
func (p *proxy) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ln != nil {
		_ = p.ln.Close()
	}
	p.ln = nil
	for c := range p.conns {
		_ = c.Close()
	}
}

// keep notes a connection that came through ln, or closes it where the proxy has died since.
func (p *proxy) keep(c net.Conn, ln net.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	if p.ln != ln {
		_ = c.Close()
	}
}

// await waits until n bytes have been passed to the server.
func (p *proxy) await(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.sent < n {
		p.more.Wait()
	}
}

// passed is how many bytes have been passed to the server.
func (p *proxy) passed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

func (p *proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *proxy) carry(in net.Conn, ln net.Listener) {
	p.keep(in, ln)
	defer p.drop(in)
	out, err := new(net.Dialer).DialContext(p.t.Context(), "tcp", p.server)
	if err != nil {
		return
	}
	p.keep(out, ln)
	defer p.drop(out)
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(in, out)
		_ = in.Close()
	}()
	_, _ = io.Copy(counter{out, p}, in)
	_ = out.Close()
	<-back
}

// counter counts what is passed to the server.
type counter struct {
	io.Writer
	p *proxy
}

func (c counter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.sent += n
	c.p.more.Broadcast()
	return n, err
}
