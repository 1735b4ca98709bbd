package faults

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/testkit"
)

// front is a server that forwards requests to the reference server, and responds to some inferences with a fault.
type front struct {
	t       *testing.T
	addr    string // 127.0.0.1:PORT
	name    string // of the host; empty: the command is given the address
	backend string
	cert    *tls.Config    // nil: no TLS
	talk    func(net.Conn) // serves a connection
	fault   fault
	// before is called for every inference that has arrived, with its number from 1, before anything is answered.
	before func(n int)

	mu     sync.Mutex
	ln     net.Listener // nil: it is down
	over   bool         // the test has ended
	conns  map[net.Conn]bool
	asked  int // inferences that have arrived
	faults int // those that got a response with the fault
	pid    int // of the client
	files  []int
	wg     sync.WaitGroup
}

// newFront starts a front. Its port is reserved until the test ends.
func newFront(t *testing.T, w wire, f fault) *front {
	t.Helper()
	s := &front{t: t, addr: testkit.Port(t), backend: w.backend(), fault: f, conns: map[net.Conn]bool{}}
	if w.cert != nil {
		s.cert = &tls.Config{Certificates: []tls.Certificate{*w.cert}, NextProtos: []string{"http/1.1"}}
		if w.http2() {
			s.cert.NextProtos = []string{"h2"}
		}
	}
	s.talk = s.http1
	if w.http2() {
		s.talk = s.http2
	}
	s.up()
	t.Cleanup(func() {
		s.mu.Lock()
		s.over = true
		s.mu.Unlock()
		s.down()
		s.wg.Wait()
	})
	return s
}

// up listens, again or for the first time.
func (s *front) up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	ln := testkit.Listen(s.t, s.addr)
	s.ln = ln
	s.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() {
				defer s.forget(c)
				if !s.keep(c, ln) {
					return
				}
				if s.cert == nil {
					s.talk(c)
					return
				}
				secure := tls.Server(c, s.cert)
				if secure.HandshakeContext(s.t.Context()) == nil {
					s.talk(secure)
				}
			})
		}
	})
}

// down closes the listener and every connection.
func (s *front) down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ln != nil {
		_ = s.ln.Close()
	}
	s.ln = nil
	for c := range s.conns {
		_ = c.Close()
	}
}

// keep notes a connection; false if the server went down since it was accepted.
func (s *front) keep(c net.Conn, ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = true
	return s.ln == ln
}

func (s *front) forget(c net.Conn) {
	_ = c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// arrived counts an inference, and reports whether it is one to answer with the fault.
func (s *front) arrived() bool {
	s.mu.Lock()
	s.asked++
	n, faulty := s.asked, s.fault.hits(s.asked)
	if faulty {
		s.faults++
		s.files = append(s.files, openFiles(s.pid))
	}
	s.mu.Unlock()
	if s.before != nil {
		s.before(n)
	}
	return faulty
}

// counts returns how many inferences have arrived and got a response with the fault.
func (s *front) counts() (asked, faults int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked, s.faults
}

// pass forwards new connections to another server.
func (s *front) pass(backend string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backend = backend
}

// behind is the server that requests are passed on to.
func (s *front) behind() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.backend
}

// openFiles is the number of open files of a process; 0 if the system does not report it.
func openFiles(pid int) int {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0
	}
	return len(list)
}

// drop closes a connection with a reset.
func drop(c net.Conn) {
	plain := c
	if secure, ok := c.(*tls.Conn); ok {
		plain = secure.NetConn()
	}
	_ = plain.(*net.TCPConn).SetLinger(0)
	_ = plain.Close()
}

// finish closes the sending side of a connection and reads what the client still sends: closing before would reset the connection, and
// data that was sent might be lost.
func finish(c net.Conn) {
	if secure, ok := c.(*tls.Conn); ok {
		_ = secure.CloseWrite()
		c = secure.NetConn()
	}
	_ = c.(*net.TCPConn).CloseWrite()
}
