package profile_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
)

// bulky answers every request at once, on one goroutine, with so many responses of 64 KiB.
type bulky struct {
	*testkit.Service
	responses int
}

type bulkyTransport struct {
	bulky
	sink  service.Sink
	calls chan *service.Call
	ended sync.WaitGroup
}

func (b bulky) Open(_ context.Context, sink service.Sink) (service.Transport, error) {
	t := &bulkyTransport{bulky: b, sink: sink, calls: make(chan *service.Call, 1024)}
	t.ended.Go(t.serve)
	return t, nil
}

func (t *bulkyTransport) serve() {
	payload := make([]byte, 64<<10)
	for c := range t.calls {
		now := clock.Now()
		c.Rec.Sent, c.Rec.First, c.Rec.End = now, now, now
		c.Rec.Responses = uint32(t.responses)
		for range t.responses {
			t.sink.Response(c, payload, now, false)
		}
		t.sink.Done(c)
	}
}

func (t *bulkyTransport) Send(c *service.Call)            { t.calls <- c }
func (t *bulkyTransport) Grow(context.Context, int) error { return nil }
func (t *bulkyTransport) Flush()                          {}
func (t *bulkyTransport) Lane(int) int                    { return 0 }
func (t *bulkyTransport) Cut(int, record.Class)           {}
func (t *bulkyTransport) Close() error                    { close(t.calls); t.ended.Wait(); return nil }

// The records of a warm-up are collected while it runs. Otherwise a warm-up of more bytes than may wait for the collector would not end.
func TestWarmupIsCollectedAsItRuns(t *testing.T) {
	p := perfPlan()
	p.Measure.WarmupCount, p.Measure.RequestCount, p.Measure.Window = 400, 10, plan.CountWindows
	x := &exports{}
	res, _, err := runPlan(t, p, &testkit.Service{}, func(r *profile.Runner) {
		r.Service, r.Exporter, r.Model.Statistics = bulky{r.Service.(*testkit.Service), 1}, x, false
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := res.Levels[0].Client.Requests; n != 10 || x.requests != 10 {
		t.Errorf("%d requests measured, %d exported", n, x.requests)
	}
}

// slowExports writes to a slow disk.
type slowExports struct{ exports }

func (s *slowExports) Request(r *record.Record, events []record.Event, data []byte) error {
	time.Sleep(5 * time.Millisecond)
	return s.exports.Request(r, events, data)
}

// The same holds for a periodic load, whose records all go to the export. Where that is slower than the load, the verdict
// says so.
func TestPeriodicLoadIsCollectedAsItRuns(t *testing.T) {
	p := perfPlan()
	p.Load.Mode, p.Load.Period = plan.PeriodicConcurrency, 4
	p.Load.Periodic = plan.IntRange{Start: 1, End: 200, Step: 1}
	x := &slowExports{}
	res, _, err := runPlan(t, p, &testkit.Service{}, func(r *profile.Runner) {
		r.Service, r.Exporter = bulky{r.Service.(*testkit.Service), 4}, x
	})
	if err != nil {
		t.Fatal(err)
	}
	if x.requests != 200 || res.Verdict.State != result.ClientLimited {
		t.Errorf("%d requests exported, verdict %+v", x.requests, res.Verdict)
	}
}
