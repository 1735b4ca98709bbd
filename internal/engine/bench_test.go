package engine_test

import (
	"context"
	"testing"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// instant is a service whose calls end at once, on the goroutine of the test: what is left is the engine itself.
type instant struct {
	testkit.Service
	sink  service.Sink
	calls chan *service.Call
}

func (s *instant) Open(_ context.Context, sink service.Sink) (service.Transport, error) {
	s.sink = sink
	return s, nil
}

func (s *instant) Grow(context.Context, int) error { return nil }
func (s *instant) Flush()                          {}
func (s *instant) Cut(int, record.Class)           {}
func (s *instant) Lane(int) int                    { return 0 }

func (s *instant) Send(c *service.Call) {
	c.Rec.Sent = clock.Now()
	s.calls <- c
}

// step ends one call, and so sends the next in closed loop.
func (s *instant) step() {
	c := <-s.calls
	c.Rec.End, c.Rec.Responses = clock.Now(), 1
	s.sink.Response(c, nil, c.Rec.End, false)
	s.sink.Done(c)
}

func openInstant(tb testing.TB) (*engine.Engine, *instant) {
	tb.Helper()
	svc := &instant{calls: make(chan *service.Call, 64)}
	e, err := engine.Open(tb.Context(), engine.Config{Service: svc, Source: func(int, int) engine.Source { return testkit.Source{} }})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { e.Close() })
	return e, svc
}

// turns ends n requests and collects records after every thousand.
func turns(e *engine.Engine, svc *instant, n int) {
	for i := range n {
		if svc.step(); i%1000 == 999 {
			e.Sync(func() {})
		}
	}
}

func TestClosedLoopDoesNotAllocate(t *testing.T) {
	e, svc := openInstant(t)
	if err := e.Start(t.Context(), &engine.Closed{Concurrency: 8}); err != nil {
		t.Fatal(err)
	}
	turns(e, svc, 20_000)
	if n := testkit.Allocs(func() { turns(e, svc, 2000) }); n >= 1 {
		t.Errorf("%.0f allocations in 2000 requests", n)
	}
}

// startPaced starts an open loop that is always behind, with two workers and a source for each.
func startPaced(tb testing.TB, e *engine.Engine) {
	tb.Helper()
	loop := &engine.Paced{Schedule: pace.Constant(1e9), Sources: 2, Workers: 2, Limit: 1 << 40, Slots: 32, Cap: 32}
	if err := e.Start(tb.Context(), loop); err != nil {
		tb.Fatal(err)
	}
}

func TestPacedLoopDoesNotAllocate(t *testing.T) {
	e, svc := openInstant(t)
	startPaced(t, e)
	turns(e, svc, 20_000)
	if n := testkit.Allocs(func() { turns(e, svc, 2000) }); n >= 1 {
		t.Errorf("%.0f allocations in 2000 requests", n)
	}
}

// BenchmarkClosed is one request of a closed loop: its end, its record, and the sending of the next.
func BenchmarkClosed(b *testing.B) {
	e, svc := openInstant(b)
	if err := e.Start(b.Context(), &engine.Closed{Concurrency: 8}); err != nil {
		b.Fatal(err)
	}
	turns(e, svc, 20_000)
	b.ReportAllocs()
	b.ResetTimer()
	turns(e, svc, b.N)
}

// BenchmarkPaced is one request of an open loop that is always behind: its send, and its end.
func BenchmarkPaced(b *testing.B) {
	e, svc := openInstant(b)
	startPaced(b, e)
	b.ReportAllocs()
	b.ResetTimer()
	turns(e, svc, b.N)
}
