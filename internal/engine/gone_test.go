package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// unreached is a service whose failures are connections that could not be made.
type unreached struct{ testkit.Service }

type unreachedSink struct{ service.Sink }

func (s *unreached) Open(ctx context.Context, sink service.Sink) (service.Transport, error) {
	return s.Service.Open(ctx, unreachedSink{sink})
}

func (s unreachedSink) Done(c *service.Call) {
	if c.Rec.Class == record.Server {
		c.Rec.Class = record.Connect
	}
	s.Sink.Done(c)
}

var errNobody = errors.New("nobody listens")

// A server that is gone ends the load long before a hundred slow attempts have failed; one that comes back does not.
func TestAServerThatIsGoneEndsTheLoad(t *testing.T) {
	testkit.Simulate(t, func(t *testing.T) {
		const attempt = 100 * time.Millisecond
		var back atomic.Bool
		svc := &unreached{}
		svc.Answer = func(n int64) (time.Duration, error) {
			if n == 10 { // it was away for a second
				back.Store(true)
				return 0, nil
			}
			return attempt, errNobody
		}
		e := open(t, svc, engine.Config{})
		begun := time.Now()
		start(t, e, &engine.Closed{Concurrency: 1})
		<-e.Failed()
		finished(t, e)
		if !back.Load() || svc.Sent() > engine.GiveUpAfter/2 {
			t.Errorf("given up after %d requests", svc.Sent())
		}
		if took := time.Since(begun); took < engine.GoneAfter+10*attempt {
			t.Errorf("given up after %v", took)
		}
	})
}
