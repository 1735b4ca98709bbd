package arrival

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
)

// pair is a connection within this process.
func pair(t testing.TB) (client, server net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if client, err = new(net.Dialer).DialContext(t.Context(), "tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

// stamped is a connection whose first bytes have come with a note: right after the first socket asks for notes, the
// kernel needs a moment to begin.
func stamped(t testing.TB) (c *Conn, server net.Conn) {
	t.Helper()
	client, server := pair(t)
	if c = Wrap(client); c == nil {
		t.Skip("the kernel does not note when bytes come")
	}
	buf := make([]byte, 64)
	for range 100 {
		if _, err := server.Write([]byte("warm")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
		if _, err := c.Read(buf); err != nil {
			t.Fatal(err)
		}
		if c.late >= int64(time.Millisecond) {
			return c, server
		}
	}
	t.Skip("the kernel sends no notes")
	return nil, nil
}

// What lay unread for a while has the time of its coming.
func TestReadLaterThanItCame(t *testing.T) {
	c, server := stamped(t)
	before := clock.Now()
	if _, err := server.Write([]byte("data")); err != nil {
		t.Fatal(err)
	}
	after := clock.Now()
	const held = 50 * time.Millisecond
	time.Sleep(held)
	buf := make([]byte, 64)
	if n, err := c.Read(buf); err != nil || string(buf[:n]) != "data" {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	at, late := c.Last()
	if at < before-slack || at > after+slack {
		t.Errorf("it came %d us after the write began, which took %d us", (at-before)/1000, (after-before)/1000)
	}
	if late < int64(held)-slack-(after-before) {
		t.Errorf("it lay unread for %s, want at least %s", time.Duration(late), held)
	}
}

func TestConnEnds(t *testing.T) {
	client, server := pair(t)
	c := Wrap(client)
	if c == nil {
		t.Skip("the kernel does not note when bytes come")
	}
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 8)
	if _, err := c.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if n, err := c.Read(buf); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %d, %v", n, err)
	}
}

func TestReadsAllocateNothing(t *testing.T) {
	c, server := stamped(t)
	buf, line := make([]byte, 64), []byte("data: hello\n\n")
	if n := testing.AllocsPerRun(200, func() {
		if _, err := server.Write(line); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(buf); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a read", n)
	}
}

func BenchmarkRead(b *testing.B) {
	for _, noted := range []bool{false, true} {
		name := "plain"
		if noted {
			name = "noted"
		}
		b.Run(name, func(b *testing.B) {
			nc, server := pair(b)
			if noted {
				nc = Wrap(nc)
			}
			buf, line := make([]byte, 64), []byte("data: hello\n\n")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := server.Write(line); err != nil {
					b.Fatal(err)
				}
				if _, err := nc.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
