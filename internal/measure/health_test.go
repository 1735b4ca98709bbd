package measure_test

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
)

// A connection that works nearly all the time limits the throughput, if more connections can share its work.
func TestMoreConnections(t *testing.T) {
	const ms = int64(time.Millisecond)
	f := func(connections, processors, inFlight int, busy time.Duration, want int) {
		t.Helper()
		w := measure.NewWindow(measure.Setup{Batch: 1})
		w.Begin(0)
		for range inFlight {
			w.Add(&record.Record{Due: 0, Sent: 0, First: 1000 * ms, End: 1000 * ms, Responses: 1})
		}
		h := w.Health(measure.Load{Wall: time.Second, MaxProcs: processors, Connections: connections, ConnectionBusy: busy})
		if h.MoreConnections != want || h.Connections != connections {
			t.Errorf("%d connections, %d processors, %d in flight, busy for %v: %+v, want %d connections", connections, processors, inFlight, busy, h, want)
		}
	}
	f(1, 8, 64, 970*time.Millisecond, 8)
	f(2, 8, 64, 970*time.Millisecond, 8)
	f(1, 8, 4, 970*time.Millisecond, 4)  // a connection needs a request
	f(1, 8, 64, 500*time.Millisecond, 0) // it has reserve
	f(1, 1, 64, 970*time.Millisecond, 0) // no processor is free
	f(8, 8, 64, 970*time.Millisecond, 0)
	f(0, 8, 64, 0, 0) // each request has a connection
}
