package simple

import (
	"context"
	"math"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

type nowhere struct{ service.Service }

func (nowhere) Open(_ context.Context, sink service.Sink) (service.Transport, error) {
	for i := range 7 { // warm-up of two, then five on two slots, one of which failed
		c := &service.Call{Slot: i % 2}
		c.Rec.Sent, c.Rec.End = int64(i)*1e9, int64(i)*1e9+int64(i+1)*1e6
		if i == 6 {
			c.Rec.Class = record.Server
		}
		sink.Done(c)
	}
	return nil, nil
}

type deaf struct{ service.Sink }

func (deaf) Done(*service.Call) {}

func TestMeasureSkipsTheWarmup(t *testing.T) {
	tap := &Tap{Service: nowhere{}}
	if _, err := tap.Open(t.Context(), deaf{}); err != nil {
		t.Fatal(err)
	}
	f, ok := Measure(tap, &plan.Plan{Measure: plan.Measure{WarmupCount: 2}})
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if !ok || !near(f.P50, 4.5) || !near(f.Avg, 4.5) || !near(f.Slowest, 6) || !near(f.Throughput, 4/3.006) {
		t.Errorf("%t %+v", ok, f)
	}
	if _, ok := Measure(tap, &plan.Plan{Measure: plan.Measure{WarmupCount: 6}}); ok {
		t.Error("figures of no request")
	}
}
