package h2_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/h2"
	"github.com/redline-bench/redline/internal/wire/h2/h2test"
)

// loop keeps one request in flight and sends the next from the end of the last, as the engine does.
type loop struct {
	stream h2.Stream
	conn   *h2.Conn
	header *h2.Header
	msg    h2.Message
	left   *atomic.Int64
	done   chan error
	got    int
}

func (l *loop) start() {
	if err := l.conn.Open(&l.stream, l.header, l.msg); err != nil {
		l.done <- err
	}
}

func (l *loop) OnMessage(msg []byte, _ int64) { l.got += len(msg) }

func (l *loop) OnEnd(end h2.End, _ int64) {
	switch {
	case end.Err != nil:
		l.done <- end.Err
	case end.Status != 0:
		l.done <- &h2.StatusError{Code: end.Status, Message: end.Message}
	case l.left.Add(-1) < 0:
		l.done <- nil
	default:
		l.start()
	}
}

func dialTest(tb testing.TB, addr string) *h2.Conn {
	tb.Helper()
	c, err := h2.Dial(tb.Context(), h2.Config{Addr: addr})
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = c.Serve()
	}()
	tb.Cleanup(func() {
		_ = c.Close()
		<-served
	})
	return c
}

type closedLoop struct {
	conn  *h2.Conn
	loops []*loop
	left  atomic.Int64
	done  chan error
}

func newClosedLoop(tb testing.TB, addr string, inFlight, size int) *closedLoop {
	tb.Helper()
	r := &closedLoop{conn: dialTest(tb, addr), done: make(chan error, inFlight)}
	header := h2.Request{Authority: addr, Path: "/inference.GRPCInferenceService/ModelInfer"}.Header()
	body := make([]byte, size)
	for range inFlight {
		l := &loop{conn: r.conn, header: header, left: &r.left, done: r.done}
		l.msg = h2.Message{Body: body, Tail: []byte("\x1a\x0212"), Last: true}
		l.stream.Bind(l)
		r.loops = append(r.loops, l)
	}
	return r
}

// run makes n requests in all.
func (r *closedLoop) run(tb testing.TB, n int) {
	tb.Helper()
	r.left.Store(int64(n - len(r.loops)))
	for _, l := range r.loops {
		l.start()
	}
	r.conn.Flush()
	for range r.loops {
		if err := <-r.done; err != nil {
			tb.Fatal(err)
		}
	}
}

func BenchmarkUnary(b *testing.B) {
	f := func(inFlight, size int) {
		b.Run(fmt.Sprintf("inflight=%d/bytes=%d", inFlight, size), func(b *testing.B) {
			srv := h2test.Start(b, make([]byte, size))
			r := newClosedLoop(b, srv.Addr(), inFlight, size)
			r.run(b, 2*inFlight)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			b.ResetTimer()
			r.run(b, max(b.N, inFlight))
		})
	}
	f(1, 200)
	f(8, 200)
	f(64, 200)
	f(8, 1<<20)
}

func TestUnaryDoesNotAllocate(t *testing.T) {
	srv := h2test.Start(t, make([]byte, 200))
	r := newClosedLoop(t, srv.Addr(), 8, 200)
	r.run(t, 2000)
	const n = 5000
	testkit.FewAllocs(t, n, func() { r.run(t, n) })
}
