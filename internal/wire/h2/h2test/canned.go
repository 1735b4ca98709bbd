// Package h2test has a server for tests and benchmarks of HTTP/2 clients: it answers every request at once with
// the same bytes, and costs so little itself that they measure the client.
package h2test

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/internal/wire/h2/hpack"
)

// Canned is a server with one answer. It knows just enough of HTTP/2 to find where requests end.
type Canned struct {
	ln     net.Listener
	head   []hpack.Field
	pieces [][]byte      // of the answer, each a DATA frame or more
	tail   []hpack.Field // nil: the last piece ends the stream
	refuse atomic.Int64  // streams still to be refused
	wg     sync.WaitGroup
}

// Start makes a server on a free port that answers with the given message of gRPC. It ends with the test.
func Start(tb testing.TB, answer []byte) *Canned {
	msg := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer)))
	return start(tb, &Canned{head: head, pieces: [][]byte{append(msg, answer...)}, tail: tail})
}

// StartPlain makes a server that answers with a body of the given type, in pieces of a frame each.
func StartPlain(tb testing.TB, ctype string, pieces ...string) *Canned {
	s := &Canned{head: []hpack.Field{{Name: ":status", Value: "200"}, {Name: "content-type", Value: ctype}}}
	for _, p := range pieces {
		s.pieces = append(s.pieces, []byte(p))
	}
	return start(tb, s)
}

func start(tb testing.TB, s *Canned) *Canned {
	tb.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s.ln = ln
	s.wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { s.serve(nc) })
		}
	})
	tb.Cleanup(func() {
		_ = ln.Close()
		s.wg.Wait()
	})
	return s
}

// Addr is where the server listens.
func (s *Canned) Addr() string { return s.ln.Addr().String() }

// Refuse has the server refuse the next n requests with REFUSED_STREAM: it has not looked at them.
func (s *Canned) Refuse(n int) { s.refuse.Store(int64(n)) }

// Refusals is how many requests are still to be refused; below zero once others were answered.
func (s *Canned) Refusals() int { return int(s.refuse.Load()) }

func (s *Canned) serve(nc net.Conn) {
	defer func() { _ = nc.Close() }()
	if _, err := io.ReadFull(nc, make([]byte, 24)); err != nil { // the client's preface
		return
	}
	c := session{Canned: s, enc: hpack.NewEncoder(), buf: make([]byte, 0, bufSize)}
	c.out = appendFrame(nil, 4, 0, 0, []byte{0, 4, 0x7f, 0xff, 0xff, 0xff}) // streams may send without end
	c.window(1 << 30)
	for {
		if _, err := nc.Write(c.out); err != nil {
			return
		}
		c.out = c.out[:0]
		if cap(c.buf)-len(c.buf) < bufSize/4 {
			c.buf = append(make([]byte, 0, cap(c.buf)+bufSize), c.buf...)
		}
		n, err := nc.Read(c.buf[len(c.buf):cap(c.buf)])
		if err != nil {
			return
		}
		c.buf = c.buf[:len(c.buf)+n]
		c.frames()
	}
}

const bufSize = 256 << 10

// session is one connection.
type session struct {
	*Canned
	enc      *hpack.Encoder
	buf, out []byte
	scratch  []byte
	used     int // bytes of the connection's window
}

var (
	head = []hpack.Field{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"}, {Name: "grpc-accept-encoding", Value: "identity"}}
	tail = []hpack.Field{{Name: "grpc-status", Value: "0"}}
)

// frames takes all whole frames out of the buffer.
func (c *session) frames() {
	at := 0
	for len(c.buf)-at >= 9 {
		h := c.buf[at : at+9]
		size := int(h[0])<<16 | int(h[1])<<8 | int(h[2])
		if len(c.buf)-at < 9+size {
			break
		}
		at += 9 + size
		if h[3] != 0 { // not DATA
			continue
		}
		if c.used += size; c.used > 1<<28 {
			c.window(uint32(c.used))
			c.used = 0
		}
		if h[4]&1 != 0 { // END_STREAM
			c.reply(binary.BigEndian.Uint32(h[5:]))
		}
	}
	c.buf = append(c.buf[:0], c.buf[at:]...)
}

func (c *session) reply(id uint32) {
	if c.refuse.Add(-1) >= 0 {
		c.out = appendFrame(c.out, 3, 0, id, []byte{0, 0, 0, 7})
		return
	}
	c.scratch = c.enc.Append(c.scratch[:0], c.head)
	c.out = appendFrame(c.out, 1, 4, id, c.scratch)
	for _, m := range c.pieces {
		for len(m) > 0 {
			n := min(len(m), 1<<14)
			c.out = appendFrame(c.out, 0, 0, id, m[:n])
			m = m[n:]
		}
	}
	if c.tail == nil {
		c.out = appendFrame(c.out, 0, 1, id, nil)
		return
	}
	c.scratch = c.enc.Append(c.scratch[:0], c.tail)
	c.out = appendFrame(c.out, 1, 5, id, c.scratch)
}

func (c *session) window(n uint32) {
	c.out = binary.BigEndian.AppendUint32(append(c.out, 0, 0, 4, 8, 0, 0, 0, 0, 0), n)
}

func appendFrame(dst []byte, typ, flags byte, id uint32, p []byte) []byte {
	dst = append(dst, byte(len(p)>>16), byte(len(p)>>8), byte(len(p)), typ, flags)
	return append(binary.BigEndian.AppendUint32(dst, id), p...)
}
