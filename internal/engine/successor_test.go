package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// manual is a service whose calls end when the test says so.
type manual struct {
	*testkit.Service
	sink  service.Sink
	calls chan *service.Call
	sent  atomic.Int64
	onCut func()
}

func newManual() *manual {
	return &manual{Service: &testkit.Service{}, calls: make(chan *service.Call, 16), onCut: func() {}}
}

func (m *manual) Open(_ context.Context, sink service.Sink) (service.Transport, error) {
	m.sink = sink
	return m, nil
}

func (m *manual) Send(c *service.Call) {
	m.sent.Add(1)
	c.Rec.Sent = clock.Now()
	m.calls <- c
}

func (m *manual) Grow(context.Context, int) error { return nil }
func (m *manual) Flush()                          {}
func (m *manual) Lane(int) int                    { return 0 }
func (m *manual) Cut(int, record.Class)           { m.onCut() }

func (m *manual) end(c *service.Call) {
	c.Rec.End, c.Rec.Responses = clock.Now(), 1
	m.sink.Done(c)
}

// A request ends while its deadline is being enforced. The next request of the slot must not be sent before the cut is
// over, or the cut would hit it.
func TestACutNeverMeetsTheNextRequest(t *testing.T) {
	m := newManual()
	var during atomic.Int64
	done := make(chan struct{})
	first := make(chan *service.Call, 1)
	m.onCut = func() {
		var c *service.Call
		select {
		case c = <-first:
		default:
			return // a request after the first
		}
		go func() {
			m.end(c)
			close(done)
		}()
		time.Sleep(50 * time.Millisecond) // far longer than it takes to send
		during.Store(m.sent.Load())
	}
	eng := open(t, m, engine.Config{Timeout: 100 * time.Millisecond})
	start(t, eng, &engine.Closed{Concurrency: 1, Limit: 2})
	first <- <-m.calls
	<-done
	if n := during.Load(); n != 1 {
		t.Errorf("%d requests were sent by the end of the cut", n)
	}
	m.end(<-m.calls)
	if err := eng.Finished(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// pausing pauses for an hour after its first request.
type pausing struct{ testkit.Source }

func (pausing) Heard(*service.Call, []record.Event, []byte) error { return nil }
func (r pausing) Pause() (time.Duration, bool) {
	if r.N.Load() == 0 {
		return 0, true
	}
	return time.Hour, true
}

// A slot in a pause of known length is active: neither Wake nor a change of the level starts it a second time.
func TestAPausedSlotIsNotStartedTwice(t *testing.T) {
	m := newManual()
	var cuts atomic.Int64
	m.onCut = func() { cuts.Add(1) }
	source := pausing{testkit.Source{N: new(atomic.Int64)}}
	eng := open(t, m, engine.Config{Source: func(int, int) engine.Source { return source }, Timeout: time.Millisecond})
	start(t, eng, &engine.Closed{Concurrency: 1})
	m.end(<-m.calls)
	before := cuts.Load()
	eng.Wake(0)
	start(t, eng, &engine.Closed{Concurrency: 1})
	if n := m.sent.Load(); n != 1 || eng.InFlight() != 0 || !eng.Working() {
		t.Errorf("%d requests were sent, %d are in flight, the slot is active: %v", n, eng.InFlight(), eng.Working())
	}
	time.Sleep(50 * time.Millisecond)
	if n := cuts.Load() - before; n > 0 {
		t.Errorf("%d cuts although nothing is in flight", n)
	}
	eng.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	defer cancel()
	if err := eng.Wait(ctx); err != nil || eng.InFlight() != 0 {
		t.Errorf("after Stop: %v, %d at work", err, eng.InFlight())
	}
}
