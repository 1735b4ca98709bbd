package torchserve_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/torchserve"
	"github.com/redline-bench/redline/internal/testkit"
)

// canned answers each request with the same bytes and without allocating. Requests are as long as the first one.
func canned(tb testing.TB) string {
	tb.Helper()
	return testkit.Accept(tb, func(c net.Conn) {
		defer c.Close()
		in, out := make([]byte, 64<<10), []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"class\": 1}")
		for got, size := 0, 0; ; {
			n, err := c.Read(in[got:])
			if err != nil {
				return
			}
			if got += n; size == 0 {
				size = requestSize(in[:got])
			}
			if size == 0 || got < size {
				continue
			}
			if got = 0; !answered(c, out) {
				return
			}
		}
	})
}

func answered(c net.Conn, out []byte) bool {
	_, err := c.Write(out)
	return err == nil
}

// requestSize is the length of a request with its body; 0 while its head is not complete.
func requestSize(b []byte) int {
	head, _, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	_, length, _ := bytes.Cut(head, []byte("Content-Length: "))
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	n, err := strconv.Atoi(string(length))
	if !ok || err != nil {
		return 0
	}
	return len(head) + 4 + n
}

// closedLoop sends the next call of a slot when one ends.
type closedLoop struct {
	tr    service.Transport
	calls []*service.Call
	left  atomic.Int64
	ended chan *service.Call
}

func (l *closedLoop) Response(*service.Call, []byte, int64, bool) {}

func (l *closedLoop) Done(c *service.Call) {
	if c.Rec.Class == record.OK && l.left.Add(-1) >= 0 {
		l.tr.Send(c)
		return
	}
	l.ended <- c
}

func openLoop(tb testing.TB, slots int) *closedLoop {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "f.bin")
	if err := os.WriteFile(path, make([]byte, 64), 0o600); err != nil {
		tb.Fatal(err)
	}
	s, err := torchserve.New(plan.Target{URL: canned(tb), Model: "m"})
	if err != nil {
		tb.Fatal(err)
	}
	req, err := s.Prepare(input(path))
	if err != nil {
		tb.Fatal(err)
	}
	l := &closedLoop{ended: make(chan *service.Call, slots)}
	if l.tr, err = s.Open(tb.Context(), l); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.tr.Close() })
	if err := l.tr.Grow(tb.Context(), slots); err != nil {
		tb.Fatal(err)
	}
	for i := range slots {
		l.calls = append(l.calls, &service.Call{Slot: i, Req: req})
	}
	return l
}

// run makes n calls in all.
func (l *closedLoop) run(tb testing.TB, n int) {
	tb.Helper()
	l.left.Store(int64(n - len(l.calls)))
	for _, c := range l.calls {
		l.tr.Send(c)
	}
	l.tr.Flush()
	for range l.calls {
		if c := <-l.ended; c.Rec.Class != record.OK {
			tb.Fatal(c.Err)
		}
	}
}

func TestCallsDoNotAllocate(t *testing.T) {
	l := openLoop(t, 4)
	l.run(t, 200)
	if n := testkit.Allocs(func() { l.run(t, 200) }); n >= 1 {
		t.Errorf("%.0f allocations in 200 calls", n)
	}
}

func BenchmarkCalls(b *testing.B) {
	l := openLoop(b, 8)
	l.run(b, 1000)
	b.ReportAllocs()
	b.ResetTimer()
	l.run(b, max(b.N, 8))
}
