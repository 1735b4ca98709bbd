package arrival

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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
	t.Run("whole", func(t *testing.T) { connEnds(t, func(*Conn) {}) })
	t.Run("pieces", func(t *testing.T) { connEnds(t, (*Conn).Pieces) })
}

func connEnds(t *testing.T, mode func(*Conn)) {
	t.Helper()
	client, server := pair(t)
	c := Wrap(client)
	if c == nil {
		t.Skip("the kernel does not note when bytes come")
	}
	mode(c)
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
	t.Run("whole", func(t *testing.T) { allocateNothing(t, func(*Conn) {}) })
	t.Run("pieces", func(t *testing.T) { allocateNothing(t, (*Conn).Pieces) })
}

func allocateNothing(t *testing.T, mode func(*Conn)) {
	t.Helper()
	c, server := stamped(t)
	mode(c)
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
	for _, name := range []string{"plain", "noted", "pieces"} {
		b.Run(name, func(b *testing.B) {
			nc, server := pair(b)
			if name != "plain" {
				c := Wrap(nc)
				if nc = c; name == "pieces" {
					c.Pieces()
				}
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

// Bytes that lay unread together have a time each, where they came at different ones.
func TestPiecesHaveTimesOfTheirOwn(t *testing.T) {
	var why string
	for range 50 { // a busy machine may be slow to write, and then the kernel acknowledges
		if why = severalUnread(t); why == "" {
			return
		}
	}
	t.Error(why)
}

// severalUnread tells what is wrong with the times of four pieces that came 2 ms apart and were read together.
func severalUnread(t *testing.T) string {
	t.Helper()
	c, server := stamped(t)
	c.Pieces()
	// On loopback the kernel puts a segment to one before it that was acknowledged: acknowledge later, as between two who
	// talk to each other.
	if err := c.raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0) }); err != nil {
		t.Fatal(err)
	}
	const n, apart, size = 4, 2 * time.Millisecond, pieceSize
	var wrote [n]int64
	for i := range n {
		wrote[i] = clock.Now()
		if _, err := server.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(apart)
	}
	buf := make([]byte, 4096)
	for i := range n {
		if more := c.More(); more != (i > 0) {
			t.Fatalf("before piece %d there is more: %v", i, more)
		}
		if k, err := c.Read(buf); err != nil || k != size {
			t.Fatalf("%d bytes, %v", k, err)
		}
		at, late := c.Last()
		if off := at - wrote[i]; off < -slack || off > int64(apart)/2 {
			return fmt.Sprintf("piece %d came %d us after it was written", i, off/1000)
		}
		if late < int64(n-i)*int64(apart)-int64(apart)/2 {
			return fmt.Sprintf("piece %d lay unread for %d us", i, late/1000)
		}
	}
	return ""
}

// What is read in pieces is what was written, however the two fall together.
func TestPiecesLoseNothing(t *testing.T) {
	client, server := pair(t)
	c := Wrap(client)
	if c == nil {
		t.Skip("the kernel does not note when bytes come")
	}
	c.Pieces()
	want := make([]byte, 3<<20)
	for i := range want {
		want[i] = byte(i * 7 >> 3)
	}
	go func() {
		for rest, n := want, 1; len(rest) > 0; n = n*5%3001 + 1 {
			k := min(n, len(rest))
			if _, err := server.Write(rest[:k]); err != nil {
				return
			}
			rest = rest[k:]
		}
		_ = server.Close()
	}()
	var got []byte
	buf := make([]byte, 700)
	for i := 0; ; i++ {
		read := c.Read
		if c.Expect(i % 1500); i%17 == 0 {
			read = c.ReadLarge
		}
		n, err := read(buf[:1+i%len(buf)])
		got = append(got, buf[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d, or they differ", len(got), len(want))
	}
}
