package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

const never = 1000 * time.Hour

// A server that accepts requests and never answers ends the load after StallAfter, not before.
func TestAServerWithoutASignOfLifeEndsTheLoad(t *testing.T) {
	f := func(name string, cfg engine.Config, loop engine.Loop, want *engine.StallError) {
		t.Run(name, func(t *testing.T) {
			testkit.Simulate(t, func(t *testing.T) {
				svc := &testkit.Service{Answer: func(n int64) (time.Duration, error) {
					if n < 10 {
						return time.Second, nil
					}
					return never, nil
				}}
				e := open(t, svc, cfg)
				begin := time.Now()
				start(t, e, loop)
				<-e.Failed()
				finished(t, e)
				if diff := cmp.Diff(want, e.GivenUp()); diff != "" {
					t.Error(diff)
				}
				if took := time.Since(begin); took < want.For || took > want.For+want.For/10 {
					t.Errorf("given up after %v, want %v", took, want.For)
				}
			})
		})
	}
	closed := func() engine.Loop { return &engine.Closed{Concurrency: 3} }
	f("closed loop", engine.Config{}, closed(), &engine.StallError{For: engine.StallAfter, InFlight: 3})
	f("limit", engine.Config{}, &engine.Closed{Concurrency: 3, Limit: 11}, &engine.StallError{For: engine.StallAfter, InFlight: 1})
	f("timeouts are no signs of life", engine.Config{Timeout: 10 * time.Minute}, closed(), &engine.StallError{For: engine.StallAfter, InFlight: 3})
	f("a longer timeout is waited for", engine.Config{Timeout: 2 * time.Hour}, closed(), &engine.StallError{For: 2 * time.Hour, InFlight: 3})
	f("patience", engine.Config{Timeout: 6 * time.Hour, Patience: engine.StallAfter}, closed(), &engine.StallError{For: engine.StallAfter, InFlight: 3})
	paced := &engine.Paced{Schedule: pace.Constant(1), Sources: 1, Slots: 4, Cap: 4}
	f("open loop", engine.Config{}, paced, &engine.StallError{For: engine.StallAfter, InFlight: 4})
}

// A server that is merely slow is waited for, and so is a load that has nothing to send.
func TestASlowServerIsWaitedFor(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &testkit.Service{Answer: func(int64) (time.Duration, error) { return engine.StallAfter - time.Minute, nil }}
		e := open(t, svc, engine.Config{})
		time.Sleep(3 * engine.StallAfter)
		start(t, e, &engine.Closed{Concurrency: 1, Limit: 10})
		time.Sleep(10 * engine.StallAfter)
		finished(t, e)
		if why := e.GivenUp(); why != nil || svc.Sent() != 10 {
			t.Errorf("given up after %d requests: %v", svc.Sent(), why)
		}
	})
}

// streamed is a service with many responses for each request, a time apart.
type streamed struct {
	testkit.Service
	responses int
	every     time.Duration
}

type streamedTransport struct {
	service.Transport
	svc  *streamed
	sink service.Sink
}

func (s *streamed) Open(ctx context.Context, sink service.Sink) (service.Transport, error) {
	tr, err := s.Service.Open(ctx, sink)
	return &streamedTransport{tr, s, sink}, err
}

func (t *streamedTransport) Send(c *service.Call) {
	go func() {
		for range t.svc.responses {
			time.Sleep(t.svc.every)
			t.sink.Response(c, nil, clock.Now(), false)
		}
		t.Transport.Send(c)
	}()
}

// One answer that streams keeps the load alive, however long it is.
func TestAStreamIsASignOfLife(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		svc := &streamed{responses: 100, every: engine.StallAfter / 10}
		e := open(t, svc, engine.Config{})
		start(t, e, &engine.Closed{Concurrency: 1, Limit: 1})
		time.Sleep(10 * engine.StallAfter)
		finished(t, e)
		if why := e.GivenUp(); why != nil {
			t.Error(why)
		}
	})
}
