package load_test

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// A watched load runs until the watch ends it. Figures leave out the time in which it settles.
func TestWatchedLoad(t *testing.T) {
	s := &server{first: 50 * time.Millisecond, gap: 10 * time.Millisecond, tokens: 4}
	cfg := config(t, s, -1)
	cfg.Options.Confidence = 0.99
	cfg.First = measure.Look{Settle: 2 * time.Second, At: time.Second}
	var looks []time.Duration
	var lv *result.Level
	var last measure.Sight
	cfg.Watch = func(sight measure.Sight) (measure.Look, bool) {
		looks, last = append(looks, sight.Elapsed.Round(50*time.Millisecond)), sight
		lv, _ = sight.Level(0.99)
		return measure.Look{At: sight.Elapsed + 3*time.Second}, len(looks) < 4
	}
	runLevel(t, cfg, load.Level{Mode: plan.RequestRate, Rate: 50})
	if len(looks) != 4 || looks[0] != time.Second || looks[3] < 10*time.Second || looks[3] > 10*time.Second+50*time.Millisecond {
		t.Errorf("looks at %v", looks)
	}
	if last.Requests < 400 || last.Failures != 0 || last.Down != "" || last.Backlog > 20 {
		t.Errorf("%+v", last)
	}
	if n := lv.Client.Requests; n < 320 || n > uint64(last.Requests)-50 {
		t.Errorf("%d measured requests of %d", n, last.Requests)
	}
	m := lv.Metric("request_throughput")
	if m == nil || m.Avg < 40 || m.Avg > 60 || lv.Metric("time_to_first_token").IntervalOf("p50") == nil {
		t.Errorf("%+v", m)
	}
	if lv.ClientLimited {
		t.Errorf("%+v", lv.Health)
	}
}
