package measure_test

import (
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
)

// A request that a decoupled model ended without a response counts as a request, with the time until its end. The time
// to the first response is that of the others.
func TestRequestsWithoutAResponseCount(t *testing.T) {
	setup := measure.Setup{Batch: 1, Streaming: true}
	w, total := measure.NewWindow(setup), measure.NewWindow(setup)
	line := measure.NewTimeline(setup, 1)
	add := func(r *record.Record) { w.Add(r); line.Add(r) }
	add(rec(10, 10, 20))
	none := rec(10, 10, 40)
	none.Responses, none.Flags = 0, record.EmptyFinal
	add(none)
	add(none)
	total.Merge(w)
	c := total.Client(time.Second)
	if c.Requests != 3 || c.Unanswered != 2 || c.Responses != 1 || c.Failed != 0 || w.Ended() != 3 {
		t.Errorf("%d requests, %d unanswered, %d responses, %d failed, %d ended", c.Requests, c.Unanswered, c.Responses, c.Failed, w.Ended())
	}
	if c.InferPerSec != 3 || c.Latency.Max != float64(30*ms) || c.First.Count != 1 {
		t.Errorf("%g infer/sec, latency %+v, first response %+v", c.InferPerSec, c.Latency, c.First)
	}
	var ended, responses uint64
	for _, s := range line.Result(100 * ms).Slices {
		ended += s.Ended
		responses += s.Events
	}
	if ended != 3 || responses != 1 {
		t.Errorf("the timeline has %d ends and %d responses", ended, responses)
	}
}

// Requests that were sent again are counted, failed ones too.
func TestRequestsThatWereSentAgainCount(t *testing.T) {
	setup := measure.Setup{Batch: 1}
	w, total := measure.NewWindow(setup), measure.NewWindow(setup)
	w.Add(rec(10, 10, 20))
	again := rec(10, 10, 20)
	again.Flags = record.Resent
	w.Add(again)
	failed := *again
	failed.Class = record.Transport
	w.Add(&failed)
	total.Merge(w)
	if c := total.Client(time.Second); c.Requests != 2 || c.Failed != 1 || c.Resent != 2 {
		t.Errorf("%d requests, %d failed, %d sent again; want 2, 1, 2", c.Requests, c.Failed, c.Resent)
	}
}
