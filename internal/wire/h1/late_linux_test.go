package h1

import (
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/testkit"
)

// What a stream must be like to be read late.
func TestSteady(t *testing.T) {
	const ms = int64(time.Millisecond)
	many := func(n int, gap int64) []int64 { return slices.Repeat([]int64{gap}, n) }
	for name, c := range map[string]struct {
		gaps   []int64
		lasted int64 // the stream before it
		met    int   // the gap, from 1, after which the read brought two pieces; 0: none
		untold int   // the gap, from 1, after which the kernel gave no time; 0: none
		want   bool
	}{
		"one each 10 ms, for long":         {gaps: many(20, 10*ms), want: true},
		"one each 10 ms, just begun":       {gaps: many(5, 10*ms)},
		"just begun, the one before long":  {gaps: many(5, 10*ms), lasted: time.Second.Nanoseconds(), want: true},
		"just begun, the one before short": {gaps: many(5, 10*ms), lasted: 30 * ms},
		"first reads":                      {gaps: many(1, 10*ms), lasted: time.Second.Nanoseconds()},
		"fast":                             {gaps: many(500, ms)},
		"in pairs":                         {gaps: slices.Repeat([]int64{20 * ms, ms / 10}, 50)},
		"in parts, at the end of a pair":   {gaps: append(slices.Repeat([]int64{20 * ms, ms / 10}, 50), 20*ms)},
		"one came soon after another":      {gaps: append(many(50, 10*ms), ms)},
		"and then slow again":              {gaps: append(append(many(50, 10*ms), ms), many(2, 10*ms)...), want: true},
		"the kernel gave no time":          {gaps: many(50, 10*ms), untold: 50},
		"it gave one again":                {gaps: many(50, 10*ms), untold: 48, want: true},
		"two met":                          {gaps: many(50, 10*ms), met: 50},
		"two met a while ago":              {gaps: many(100, 10*ms), met: 50},
		"two met long ago":                 {gaps: many(200, 10*ms), met: 50, want: true},
	} {
		p := pace{first: 1, last: 1, lasted: c.lasted}
		at, got := int64(1), false
		for i, gap := range c.gaps {
			at += gap
			pieces, lay := 1, ms/2
			if i+1 == c.met {
				pieces = 2
			}
			if i+1 == c.untold {
				lay = 0
			}
			p.late = got
			got = p.steady(pieces, at, lay)
		}
		if got != c.want {
			t.Errorf("%s: read late: %v, want %v", name, got, c.want)
		}
	}
}

// Reading late must pay, and tokens of one stream must not meet.
func TestDecide(t *testing.T) {
	const ms = int64(time.Millisecond)
	for name, c := range map[string]struct {
		on       bool
		reads    int64 // in a trial of 50 ms
		shortest int64
		want     bool
		nap      int64
	}{
		"64 streams, 10 ms":         {reads: 320, shortest: 10 * ms, want: true, nap: ms},
		"64 streams, 4 ms":          {reads: 800, shortest: 4 * ms, want: true, nap: ms / 2},
		"8 streams, 4 ms":           {reads: 100, shortest: 4 * ms, nap: ms / 2},
		"10 streams, 10 ms":         {reads: 50, shortest: 10 * ms, nap: ms},
		"10 streams, 10 ms, as yet": {on: true, reads: 50, shortest: 10 * ms, want: true, nap: ms},
		"5 streams, 10 ms, as yet":  {on: true, reads: 25, shortest: 10 * ms, nap: ms},
		"all came to an end":        {on: true, shortest: math.MaxInt64, nap: ms},
		"jitter":                    {on: true, reads: 320, shortest: 3 * ms, want: true, nap: 3 * ms / share},
	} {
		l, err := NewLoop()
		if err != nil {
			t.Fatal(err)
		}
		now := clock.Now()
		l.late = lateness{on: c.on, reads: c.reads, shortest: c.shortest, since: now - trial}
		l.decide(now)
		if l.late.on != c.want || l.late.nap != c.nap {
			t.Errorf("%s: read late: %v each %s, want %v each %s", name, l.late.on, time.Duration(l.late.nap), c.want, time.Duration(c.nap))
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// slow is a client of streams and, in the test's goroutine, their server. The client has its loop read late as soon as it
// may.
type slow struct {
	c        *Conn
	server   net.Conn
	requests int
	ended    chan error // of Serve
	seen     chan bool  // for each piece: whether the connection was read late when it came

	// Of the loop, and after it of the test.
	replies int
	pieces  []string
	times   []int64
	off     bool // with the next piece, reading late is found not to pay
}

func (s *slow) Head(*Reply) bool { return true }

func (s *slow) Data(b []byte, at int64) {
	s.pieces, s.times = append(s.pieces, string(b)), append(s.times, at)
	l, p := s.c.sock.loop, &s.c.sock.pace
	was := p.late
	p.lasted, p.last = lasting, at-2*share*shortNap // a slow stream, whenever the server really wrote
	l.late.on = l.prepareLate()
	l.late.nap, l.late.since = shortNap, math.MaxInt64 // no trial ends by itself
	if s.off {
		now := clock.Now()
		l.late.reads, l.late.since = 0, now-trial
		l.decide(now)
	}
	s.seen <- was
}

func (s *slow) Reply(*Reply) {
	if s.replies++; s.replies == s.requests {
		s.c.Stop()
		return
	}
	s.send()
}

func (s *slow) Drained(error) {}

func (s *slow) send() {
	if _, _, _, err := s.c.TryWrite([]byte("GET / HTTP/1.1\r\n\r\n"), nil); err != nil {
		s.c.Break()
	}
}

// newSlow connects, and sends the first of some requests.
func newSlow(t *testing.T, requests int) *slow {
	t.Helper()
	testkit.KernelStamps(t)
	ln := testkit.Listen(t, "127.0.0.1:0")
	defer ln.Close()
	l, err := NewLoop()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &slow{requests: requests, ended: make(chan error, 1), seen: make(chan bool, 1)}
	if s.c, err = l.Dial(t.Context(), Config{Addr: ln.Addr().String(), Arrival: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.c.Close() })
	if s.server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.server.Close() })
	if !s.c.sock.noted {
		t.Fatal("the kernel stamps bytes, but not those of this connection")
	}
	s.send()
	go func() { s.ended <- s.c.Serve(s) }()
	return s
}

func (s *slow) write(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(s.server, text); err != nil {
		t.Fatal(err)
	}
}

// begin takes a request and begins to answer it.
func (s *slow) begin(t *testing.T) {
	t.Helper()
	if _, err := s.server.Read(make([]byte, 256)); err != nil {
		t.Fatal(err)
	}
	s.write(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
}

// piece sends one piece and tells whether it was read late.
func (s *slow) piece(t *testing.T, text string) bool {
	t.Helper()
	s.write(t, fmt.Sprintf("%x\r\n%s\r\n", len(text), text))
	select {
	case late := <-s.seen:
		return late
	case err := <-s.ended:
		t.Fatalf("the stream has ended: %v", err)
		return false
	}
}

// untilLate begins an answer, and goes on until it is read late. That takes as long as the kernel's times are not believed,
// which is a second after the client was interrupted between two readings of the clocks.
func (s *slow) untilLate(t *testing.T) {
	t.Helper()
	s.begin(t)
	for end := time.Now().Add(time.Minute); !s.piece(t, "x"); {
		if time.Now().After(end) {
			t.Fatal("nothing was read late")
		}
	}
}

// Streams that are read late are whole, in order and have the times of their coming, and each request after them is
// answered.
func TestReadLate(t *testing.T) {
	const streams, n = 3, 12
	s := newSlow(t, streams)
	var want []string
	var from, to []int64
	for stream := range streams {
		s.untilLate(t)
		first := len(s.pieces)
		for range first - len(want) {
			want, from, to = append(want, "x"), append(from, 0), append(to, math.MaxInt64)
		}
		for i := range n {
			text := fmt.Sprintf("%d.%d", stream, i)
			want, from = append(want, text), append(from, clock.Now())
			s.piece(t, text)
			to = append(to, clock.Now())
		}
		s.write(t, "0\r\n\r\n")
	}
	if err := <-s.ended; err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, s.pieces); d != "" || s.replies != streams {
		t.Errorf("%d replies, -want +got:\n%s", s.replies, d)
	}
	for i, at := range s.times {
		if at < from[i] || at > to[i] {
			t.Errorf("piece %d came %s after it was sent, of %s", i, time.Duration(at-from[i]), time.Duration(to[i]-from[i]))
		}
	}
	if l := s.c.sock.loop; l.late.conns != 0 || s.c.sock.pace.late {
		t.Errorf("%d connections are read late after the end", l.late.conns)
	}
}

// Where reading late does not pay any more, streams are read at once again, and nothing of them is lost.
func TestReadLateNoMore(t *testing.T) {
	s := newSlow(t, 1)
	s.untilLate(t)
	s.off = true
	s.piece(t, "y")
	for range 5 {
		if s.piece(t, "y") {
			t.Error("it is still read late")
		}
	}
	s.write(t, "0\r\n\r\n")
	if err := <-s.ended; err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimLeft(strings.Join(s.pieces, ""), "x"); got != "yyyyyy" {
		t.Errorf("the last pieces are %q", got)
	}
}

// A connection that is read late ends like any other, and its loop serves others after it.
func TestReadLateBreaksOff(t *testing.T) {
	for name, end := range map[string]func(s *slow){
		"by the server": func(s *slow) { s.server.Close() },
		"by us":         func(s *slow) { s.c.Break() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSlow(t, 1)
			s.untilLate(t)
			end(s)
			if err := <-s.ended; err == nil {
				t.Error("half a reply is a reply")
			}
			if n := s.c.sock.loop.late.conns; n != 0 {
				t.Errorf("%d connections are read late after the end", n)
			}
		})
	}
}
