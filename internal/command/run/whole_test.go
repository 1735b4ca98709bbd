package run

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// The whole counts latencies from where its classes count them.
func TestWholeCountsAsItsClassesDo(t *testing.T) {
	f := func(mode plan.Mode, fromSend bool, want time.Duration) {
		t.Helper()
		w := newWhole((&crew{}).workers)
		defer w.pulse.Stop()
		w.add(&result.Level{Mode: mode}, fromSend, &record.Record{
			Due: w.rec.From(), Sent: w.rec.From() + int64(10*time.Millisecond), First: w.rec.From() + int64(15*time.Millisecond), End: w.rec.From() + int64(15*time.Millisecond),
		})
		if got := time.Duration(w.level().Client.Latency.Avg); got != want {
			t.Errorf("%s, from the send time %v: %s, want %s", mode, fromSend, got, want)
		}
	}
	f(plan.RequestRate, false, 15*time.Millisecond)
	f(plan.RequestRate, true, 5*time.Millisecond)
	f(plan.Concurrency, false, 5*time.Millisecond)
}
