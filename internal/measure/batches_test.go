package measure_test

import (
	"testing"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
)

// line is a timeline of one request after the other, each as long as latency says of its start, up to an end.
func line(end int64, latency func(at int64) int64) *measure.Timeline {
	tl := measure.NewTimeline(measure.Setup{}, 0)
	for at := int64(0); at < end; {
		r := record.Record{Due: at, Sent: at, First: at + latency(at), End: at + latency(at), Responses: 1}
		tl.Add(&r)
		at = r.End
	}
	return tl
}

// Batches cover the time requested, and nothing of the warm-up before it: ten times slower requests.
func TestBatchesCoverTheSpanAlone(t *testing.T) {
	const second = int64(1e9)
	tl := line(8*second, func(at int64) int64 {
		if at < 4*second {
			return 100e6
		}
		return 10e6
	})
	batches := tl.Batches(4*second+1, 8*second) // the slice that the span begins in is left out
	var ended uint64
	var duration, sum int64
	for _, b := range batches {
		ended, duration, sum = ended+b.Ended, duration+b.DurationNs, sum+b.SumNs
		var counted uint64
		for i := 1; i < len(b.Counts); i += 2 {
			counted += b.Counts[i]
		}
		if counted != b.Ended {
			t.Errorf("%d of %d requests are in the histogram", counted, b.Ended)
		}
	}
	if len(batches) != 8 || duration != 39*second/10 || ended != 390 || sum != 3900e6 {
		t.Errorf("%d batches of %d ns with %d requests of %d ns", len(batches), duration, ended, sum)
	}
}

// A batch is to last two latencies on average and, down to four batches, the longest one. A shorter run has none.
func TestBatchesAreAsLongAsRequests(t *testing.T) {
	const second = int64(1e9)
	f := func(want int, latency func(int64) int64) {
		t.Helper()
		if got := len(line(6*second, latency).Batches(0, 6*second)); got != want {
			t.Errorf("%d batches, want %d", got, want)
		}
	}
	always := func(ns int64) func(int64) int64 { return func(int64) int64 { return ns } }
	f(8, always(10e6))
	f(5, always(second/2)) // eleven requests
	f(4, func(at int64) int64 {
		if at == 0 {
			return 2 * second
		}
		return 10e6
	})
	f(0, always(2*second))
}
