package suite

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy passes bytes to a server, and can die and come back in its place, at the same address.
type proxy struct {
	t      *testing.T
	addr   string
	server string

	mu    sync.Mutex
	ln    net.Listener
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	p := &proxy{t: t, server: server, addr: "127.0.0.1:0", conns: map[net.Conn]bool{}}
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
	ln, err := new(net.ListenConfig).Listen(p.t.Context(), "tcp", p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.ln, p.addr = ln, ln.Addr().String()
	p.mu.Unlock()
	p.wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.carry(in) })
		}
	})
}

// kill closes everything at once.
func (p *proxy) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.ln.Close()
	for c := range p.conns {
		_ = c.Close()
	}
}

func (p *proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
}

func (p *proxy) drop(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *proxy) carry(in net.Conn) {
	p.keep(in)
	defer p.drop(in)
	out, err := new(net.Dialer).DialContext(p.t.Context(), "tcp", p.server)
	if err != nil {
		return
	}
	p.keep(out)
	defer p.drop(out)
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(in, out)
		_ = in.Close()
	}()
	_, _ = io.Copy(out, in)
	_ = out.Close()
	<-back
}
