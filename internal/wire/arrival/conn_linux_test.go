package arrival

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/testkit"
)

// wrapped is a connection whose bytes the kernel stamps from the first on. The test's own readings of the clocks are used:
// the client may get no processor between two readings, and then it would believe no stamp for a second.
func wrapped(t testing.TB) (c *Conn, server net.Conn, clocks *shifted) {
	t.Helper()
	testkit.KernelStamps(t)
	client, server := testkit.TCPPair(t)
	if c = Wrap(client); c == nil {
		t.Fatal("there are stamps, but not for this connection")
	}
	clocks = newShifted()
	c.scale.read = clocks.read
	return c, server, clocks
}

// shifted is a pair of clocks that are ahead of the real ones by as much as the test says, and never drift apart.
type shifted struct{ offset, ahead int64 }

// newShifted compares the clocks. A pause between two readings makes the offset too small, so the largest is the best.
func newShifted() *shifted {
	s := &shifted{offset: math.MinInt64}
	for range 1000 {
		now, wall := clock.Both()
		s.offset = max(s.offset, wall-now)
	}
	return s
}

func (s *shifted) read() (now, wall int64) {
	now = clock.Now() + s.ahead
	return now, now + s.offset
}

// What lay unread for a while has the time of its coming.
func TestReadLaterThanItCame(t *testing.T) {
	c, server, clocks := wrapped(t)
	before := clock.Now()
	if _, err := server.Write([]byte("data")); err != nil {
		t.Fatal(err)
	}
	after := clock.Now()
	const held = 50 * time.Millisecond
	clocks.ahead = int64(held)
	buf := make([]byte, 64)
	if n, err := c.Read(buf); err != nil || string(buf[:n]) != "data" {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	at, late := c.Last()
	if at < before-slack || at > after+slack {
		t.Errorf("it came %d us after the write began, which took %d us", (at-before)/1000, (after-before)/1000)
	}
	if late < int64(held)-slack {
		t.Errorf("it lay unread for %s, want at least %s", time.Duration(late), held)
	}
}

func TestConnEnds(t *testing.T) {
	t.Run("whole", func(t *testing.T) { connEnds(t, func(*Conn) {}) })
	t.Run("pieces", func(t *testing.T) { connEnds(t, (*Conn).Pieces) })
}

func connEnds(t *testing.T, mode func(*Conn)) {
	t.Helper()
	c, server, _ := wrapped(t)
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
	c, server, _ := wrapped(t)
	mode(c)
	buf, line := make([]byte, 64), []byte("data: hello\n\n")
	if n := testkit.Allocs(func() {
		for range 50 {
			if _, err := server.Write(line); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(buf); err != nil {
				t.Fatal(err)
			}
		}
	}); n >= 1 {
		t.Errorf("%v allocations in 50 reads", n)
	}
}

func BenchmarkRead(b *testing.B) {
	for _, name := range []string{"plain", "noted", "pieces"} {
		b.Run(name, func(b *testing.B) {
			client, server := testkit.TCPPair(b)
			var nc net.Conn = client
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
//
// On loopback the kernel puts a segment to one before it that was acknowledged. The receiver acknowledges after 40 ms, or
// when the sender sends the last segment again to probe for a loss, which it does two ticks of the kernel's clock after it
// sent it. So the segments must follow each other faster; an attempt in which they did not tells nothing.
func TestPiecesHaveTimesOfTheirOwn(t *testing.T) {
	for end := time.Now().Add(testkit.Limit); !severalUnread(t); {
		if time.Now().After(end) {
			t.Fatal("four writes never followed each other within a millisecond")
		}
	}
}

// severalUnread writes four pieces and reads them together. It returns false where one followed another too late.
func severalUnread(t *testing.T) bool {
	t.Helper()
	c, server, _ := wrapped(t)
	c.Pieces()
	// As between two who talk to each other, the kernel must not acknowledge at once.
	if err := c.raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0) }); err != nil {
		t.Fatal(err)
	}
	const n, size, apart, tooLate = 4, pieceSize, 3 * slack, int64(time.Millisecond)
	var begun, ended [n]int64
	for i := range n {
		for begun[i] = clock.Now(); i > 0 && begun[i] < ended[i-1]+apart; begun[i] = clock.Now() {
		}
		if _, err := server.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if ended[i] = clock.Now(); i > 0 && ended[i]-begun[i-1] > tooLate {
			return false
		}
	}
	buf := make([]byte, 4096)
	from := clock.Now()
	for i := range n {
		if more := c.More(); more != (i > 0) {
			t.Fatalf("before piece %d there is more: %v", i, more)
		}
		if k, err := c.Read(buf); err != nil || k != size {
			t.Fatalf("%d bytes, %v", k, err)
		}
		at, late := c.Last()
		if at < begun[i]-slack || at > ended[i]+slack {
			t.Errorf("piece %d came %d us after it was written, which took %d us", i, (at-begun[i])/1000, (ended[i]-begun[i])/1000)
		}
		if late < from-ended[i]-slack {
			t.Errorf("piece %d lay unread for %d us, want at least %d", i, late/1000, (from-ended[i])/1000)
		}
	}
	return true
}

// What is read in pieces is what was written, however the two fall together.
func TestPiecesLoseNothing(t *testing.T) {
	c, server, _ := wrapped(t)
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
