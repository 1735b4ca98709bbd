package measure_test

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/vitals"
)

// A connection that works for much of the time limits the throughput, if more connections can share its work: on 16 cores, one
// connection that worked for 63 % of the time had 513,000 responses per second, and eight had 1,058,000.
func TestMoreConnections(t *testing.T) {
	const ms = int64(time.Millisecond)
	f := func(connections, processors, inFlight int, machine float64, busy time.Duration, want int) {
		t.Helper()
		w := measure.NewWindow(measure.Setup{Batch: 1})
		w.Begin(0)
		for range inFlight {
			w.Add(&record.Record{Due: 0, Sent: 0, First: 1000 * ms, End: 1000 * ms, Responses: 1})
		}
		h := w.Health(measure.Load{Wall: time.Second, MaxProcs: processors, Usage: vitals.Usage{Busy: machine}, Connections: connections, ConnectionBusy: busy})
		if h.MoreConnections != want || h.Connections != connections {
			t.Errorf("%d connections, %d processors, %d in flight, busy for %v: %+v, want %d connections", connections, processors, inFlight, busy, h, want)
		}
	}
	f(1, 8, 64, 0, 970*time.Millisecond, 8)
	f(2, 8, 64, 0, 970*time.Millisecond, 8)
	f(1, 8, 64, 0, 630*time.Millisecond, 8)
	f(1, 8, 4, 0, 970*time.Millisecond, 4)    // a connection needs a request
	f(1, 8, 64, 0.5, 970*time.Millisecond, 5) // other work has half of the processors
	f(1, 8, 64, 0, 300*time.Millisecond, 0)   // it mostly waits for the server
	f(1, 2, 64, 1, 970*time.Millisecond, 0)   // no processor is free
	f(1, 1, 64, 0, 970*time.Millisecond, 0)
	f(8, 8, 64, 0, 970*time.Millisecond, 0)
	f(0, 8, 64, 0, 0, 0) // each request has a connection
}
