package h1_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/h1"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

const (
	request = "POST /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
	reply   = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
)

// listen runs serve for each connection and returns the address. Everything ends with the test.
func listen(tb testing.TB, serve func(net.Conn)) string {
	tb.Helper()
	l := testkit.Listen(tb, "127.0.0.1:0")
	run(tb, l, serve)
	return l.Addr().String()
}

func run(tb testing.TB, l net.Listener, serve func(net.Conn)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			wg.Go(func() { defer c.Close(); serve(c) })
		}
	})
	tb.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
}

// answer reads whole requests of a known size and writes the same answer to each.
func answer(size int, out string) func(net.Conn) {
	return func(c net.Conn) {
		buf, resp := make([]byte, size), []byte(out)
		for {
			if _, err := io.ReadFull(c, buf); err != nil {
				return
			}
			if _, err := c.Write(resp); err != nil {
				return
			}
		}
	}
}

func dial(tb testing.TB, cfg h1.Config) *h1.Conn {
	tb.Helper()
	c, err := h1.Dial(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// modes runs a test with a connection that its own goroutine reads, and with one that a Loop serves.
func modes(t *testing.T, test func(t *testing.T, dial dialer)) {
	t.Run("alone", func(t *testing.T) { test(t, dial) })
	t.Run("loop", func(t *testing.T) { test(t, looped(t)) })
}

type dialer func(tb testing.TB, cfg h1.Config) *h1.Conn

func newLoop(tb testing.TB) *h1.Loop {
	tb.Helper()
	l, err := h1.NewLoop()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	return l
}

// looped makes connections that one Loop serves.
func looped(tb testing.TB) dialer {
	tb.Helper()
	l := newLoop(tb)
	return func(tb testing.TB, cfg h1.Config) *h1.Conn {
		tb.Helper()
		c, err := l.Dial(tb.Context(), cfg)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { c.Close() })
		return c
	}
}

// loop sends n requests, one after the other, from within the handler.
type loop struct {
	c    *h1.Conn
	req  []byte
	body []byte
	left int
	bad  int
	last wire.Reply
	// drained counts the writes that were left to a Loop.
	drained int
}

func (l *loop) Head(*wire.Reply) bool { return false }
func (l *loop) Data([]byte, int64)    {}

func (l *loop) Reply(r *wire.Reply) {
	if r.Status != 200 {
		l.bad++
	}
	l.last = *r
	if l.left--; l.left == 0 {
		l.c.Stop()
		return
	}
	l.send()
}

func (l *loop) send() {
	if err := write(l.c, l.req, l.body); err != nil {
		l.bad++
	}
}

// write puts a request on the wire, or leaves its rest to the loop.
func write(c *h1.Conn, head, body []byte) error {
	h, b, _, err := c.TryWrite(head, body)
	if err == nil && len(h)+len(b) > 0 {
		err = c.Write(h, b)
	}
	return err
}

func (l *loop) Drained(err error) {
	if err != nil {
		l.bad++
	}
	l.drained++
}

func (l *loop) run(tb testing.TB, n int) {
	tb.Helper()
	if err := l.exchange(n); err != nil {
		tb.Fatal(err)
	}
}

// exchange sends n requests and reads their replies.
func (l *loop) exchange(n int) error {
	l.left = n
	l.send()
	err := l.c.Serve(l)
	if err == nil && l.bad > 0 {
		err = fmt.Errorf("%d writes or replies went wrong", l.bad)
	}
	return err
}

func TestExchanges(t *testing.T) {
	modes(t, func(t *testing.T, dial dialer) {
		l := &loop{c: dial(t, h1.Config{Addr: listen(t, answer(len(request), reply))}), req: []byte(request)}
		l.run(t, 100)
		l.run(t, 50)
		if got := l.c.Exchanges(); got != 150 {
			t.Errorf("%d exchanges, want 150", got)
		}
		if l.last.First > l.last.End || l.last.First <= 0 {
			t.Errorf("first byte at %d, last at %d", l.last.First, l.last.End)
		}
	})
}

func TestLargeExchange(t *testing.T) {
	modes(t, func(t *testing.T, dial dialer) {
		big := bytes.Repeat([]byte("x"), 3<<20)
		out := "HTTP/1.1 200 OK\r\nContent-Length: 3145728\r\n\r\n" + string(big)
		l := &loop{c: dial(t, h1.Config{Addr: listen(t, answer(len(request)+len(big), out))}), req: []byte(request), body: big}
		l.run(t, 5)
		if !bytes.Equal(l.last.Body, big) {
			t.Error("the body differs")
		}
	})
}

// TestEarlyReply has a server answer a large request after its first bytes: the reply counts, and the connection
// ends with it, since nobody knows what the server makes of the rest.
func TestEarlyReply(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	addr := listen(t, func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, len(request)))
		_, _ = io.WriteString(c, reply)
		<-release
	})
	c := looped(t)(t, h1.Config{Addr: addr})
	l := &loop{c: c, left: 1}
	if err := write(c, []byte(request), make([]byte, 32<<20)); err != nil {
		t.Fatal(err)
	}
	if err := c.Serve(impatient{l}); err != nil || l.last.Status != 200 || !l.last.Close || l.drained != 1 || l.bad != 1 {
		t.Errorf("got %+v, %v, %d drained, %d bad", l.last, err, l.drained, l.bad)
	}
}

// impatient gives up the rest of its request when the reply is there.
type impatient struct{ *loop }

func (l impatient) Reply(r *wire.Reply) {
	l.c.Abandon()
	l.last = *r
}

// TestManyOnOneLoop has connections come and go, with requests of all sizes from several goroutines.
func TestManyOnOneLoop(t *testing.T) {
	const clients, sizes = 20, 5
	loops := newLoop(t)
	var wg sync.WaitGroup
	for i := range clients {
		var bodies [sizes][]byte
		var addrs [sizes]string
		for k := range sizes {
			bodies[k] = make([]byte, i<<(4*k))
			addrs[k] = listen(t, answer(len(request)+len(bodies[k]), reply))
		}
		wg.Go(func() {
			for k, addr := range addrs {
				if err := connectAndExchange(t.Context(), loops, addr, bodies[k]); err != nil {
					t.Errorf("%d bytes: %v", len(bodies[k]), err)
				}
			}
		})
	}
	wg.Wait()
}

func connectAndExchange(ctx context.Context, loops *h1.Loop, addr string, body []byte) error {
	c, err := loops.Dial(ctx, h1.Config{Addr: addr})
	if err != nil {
		return err
	}
	defer c.Close()
	return (&loop{c: c, req: []byte(request), body: body}).exchange(5)
}

func TestDo(t *testing.T) {
	c := dial(t, h1.Config{Addr: listen(t, answer(len(request), reply))})
	for range 3 {
		r, err := c.Do(t.Context(), []byte(request), nil)
		if err != nil || string(r.Body) != "ok" || string(r.Type) != "text/plain" {
			t.Fatalf("got %+v, %v", r, err)
		}
	}
}

func wantKind(t *testing.T, err error, want neterr.Kind, partial bool) {
	t.Helper()
	var e *neterr.Error
	if !errors.As(err, &e) || e.Kind != want || e.Partial != partial {
		t.Errorf("got %v (%+v), want kind %v, partial %t", err, e, want, partial)
	}
}

func TestEnds(t *testing.T) {
	modes(t, func(t *testing.T, dial dialer) {
		read := func(c net.Conn) { _, _ = io.ReadFull(c, make([]byte, len(request))) }
		reset := func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }
		for name, tc := range map[string]struct {
			serve   func(net.Conn)
			want    neterr.Kind
			partial bool
		}{
			"closed":             {read, neterr.Closed, false},
			"closed in a reply":  {func(c net.Conn) { read(c); _, _ = io.WriteString(c, reply[:30]) }, neterr.Truncated, true},
			"closed in the body": {func(c net.Conn) { read(c); _, _ = io.WriteString(c, reply[:len(reply)-1]) }, neterr.Truncated, true},
			"reset":              {func(c net.Conn) { read(c); reset(c) }, neterr.Reset, false},
			"http/2":             {func(c net.Conn) { read(c); _, _ = io.WriteString(c, "\x00\x00\x00\x04\x00\x00\x00\x00\x00") }, neterr.NotHTTP, true},
			"malformed":          {func(c net.Conn) { read(c); _, _ = io.WriteString(c, "HTTP/1.1 abc\r\n\r\n") }, neterr.Malformed, true},
		} {
			t.Run(name, func(t *testing.T) {
				c := dial(t, h1.Config{Addr: listen(t, tc.serve)})
				_ = write(c, []byte(request), nil) // how it ends is what the reader says
				err := c.Serve(&loop{c: c, left: 1})
				wantKind(t, err, tc.want, tc.partial)
			})
		}
	})
}

func TestReplyThatEndsTheConnection(t *testing.T) {
	modes(t, func(t *testing.T, dial dialer) {
		for name, out := range map[string]string{
			"header":      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
			"until close": "HTTP/1.1 200 OK\r\n\r\nok",
		} {
			t.Run(name, func(t *testing.T) {
				addr := listen(t, func(c net.Conn) {
					_, _ = io.ReadFull(c, make([]byte, len(request)))
					_, _ = io.WriteString(c, out)
				})
				c := dial(t, h1.Config{Addr: addr})
				l := &loop{c: c, left: 2}
				if err := write(c, []byte(request), nil); err != nil {
					t.Fatal(err)
				}
				l.req = nil
				if err := c.Serve(closer{l}); err != nil || string(l.last.Body) != "ok" || !l.last.Close {
					t.Errorf("got %+v, %v", l.last, err)
				}
			})
		}
	})
}

// closer takes a reply and writes nothing more.
type closer struct{ *loop }

func (c closer) Reply(r *wire.Reply) {
	c.last = *r
	c.last.Body = bytes.Clone(r.Body)
}

func TestDialFailures(t *testing.T) {
	addr := testkit.Port(t)
	_, err := h1.Dial(t.Context(), h1.Config{Addr: addr})
	wantKind(t, err, neterr.Refused, false)
	if !strings.Contains(err.Error(), addr) {
		t.Errorf("no address in %q", err)
	}
	_, err = h1.Dial(t.Context(), h1.Config{Addr: "127.0.0.1:99999"})
	wantKind(t, err, neterr.Unreachable, false)
	_, err = h1.Dial(t.Context(), h1.Config{Addr: listen(t, answer(1, reply)), TLS: &tls.Config{ServerName: "x"}})
	wantKind(t, err, neterr.Handshake, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h1.Dial(ctx, h1.Config{Addr: addr})
	wantKind(t, err, neterr.Broken, false)
}

// TestIdleClose shows that a reader at rest sees the server go, also when the close came right behind a reply.
func TestIdleClose(t *testing.T) {
	modes(t, func(t *testing.T, dial dialer) {
		addr := listen(t, func(c net.Conn) {
			_, _ = io.ReadFull(c, make([]byte, len(request)))
			_, _ = io.WriteString(c, reply)
		})
		c := dial(t, h1.Config{Addr: addr})
		l := &loop{c: c}
		if err := write(c, []byte(request), nil); err != nil {
			t.Fatal(err)
		}
		err := c.Serve(closer{l})
		wantKind(t, err, neterr.Closed, false)
		if l.last.Status != 200 {
			t.Errorf("the reply was lost")
		}
	})
}

type events struct {
	loop
	parts []string
	at    []int64
}

func (e *events) Head(r *wire.Reply) bool { return string(r.Type) == "text/event-stream" }

func (e *events) Data(b []byte, at int64) {
	e.parts, e.at = append(e.parts, string(b)), append(e.at, at)
}

func TestStreaming(t *testing.T) {
	modes(t, func(t *testing.T, dial dialer) {
		next := make(chan struct{})
		addr := listen(t, func(c net.Conn) {
			_, _ = io.ReadFull(c, make([]byte, len(request)))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
			for _, s := range []string{"1\r\na\r\n", "1\r\nb\r\n", "1\r\nc\r\n0\r\n\r\n"} {
				_, _ = io.WriteString(c, s)
				if _, ok := <-next; !ok {
					return
				}
			}
		})
		c := dial(t, h1.Config{Addr: addr})
		e := &stepper{next: next}
		e.c, e.left = c, 1
		if err := write(c, []byte(request), nil); err != nil {
			t.Fatal(err)
		}
		if err := c.Serve(e); err != nil || strings.Join(e.parts, "") != "abc" || len(e.at) != 3 || e.at[0] >= e.at[2] {
			t.Errorf("got %q at %v, %v", e.parts, e.at, err)
		}
		close(next)
	})
}

// stepper lets the server go on after each piece.
type stepper struct {
	events
	next chan struct{}
}

func (s *stepper) Data(b []byte, at int64) {
	s.events.Data(b, at)
	if len(s.parts) < 3 {
		s.next <- struct{}{}
	}
}

func TestTLS(t *testing.T) {
	cert, pool := testkit.Certificate(t, "redline.test")
	l := testkit.Listen(t, "127.0.0.1:0")
	big := strings.Repeat("x", 1<<18)
	run(t, tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}}), answer(len(request)+len(big), reply))
	c := dial(t, h1.Config{Addr: l.Addr().String(), TLS: &tls.Config{RootCAs: pool, ServerName: "redline.test"}})
	lp := &loop{c: c, req: []byte(request), body: []byte(big)}
	lp.run(t, 20)
}
