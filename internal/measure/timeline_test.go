package measure_test

import (
	"math"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
)

// In open loop the chart of the first response begins where the table does, at the due time. Tokens that come together
// have a gap of zero.
func TestTimelineOfAnOpenLoop(t *testing.T) {
	setup := measure.Setup{Open: true, Streaming: true}
	tl, w := measure.NewTimeline(setup, 0), measure.NewWindow(setup)
	r := &record.Record{Due: 10 * ms, Sent: 40 * ms, First: 60 * ms, End: 80 * ms, Responses: 2}
	tl.Add(r)
	w.Add(r)
	tl.Token(60*ms, measure.NoGap, 1)
	for range 3 {
		tl.Token(60*ms, 0, 1)
	}
	tl.Token(80*ms, 20*ms, 1)
	s := tl.Result(100 * ms).Slices[0]
	if table := int64(w.Client(time.Second).First.At(50)); table != 50*ms || math.Abs(float64(s.FirstP50Ns)/float64(table)-1) > 0.02 {
		t.Errorf("first response after %d ms in the table, %d ms in the chart", table/ms, s.FirstP50Ns/ms)
	}
	if s.GapP50Ns > ms || s.GapP99Ns < 19*ms {
		t.Errorf("gaps p50 %d, p99 %d", s.GapP50Ns, s.GapP99Ns)
	}
}

// Two requests of 150 ms each, half a slice apart: where they count, and how many were in flight.
func TestTimelineCountsWhereRequestsEnd(t *testing.T) {
	tl := measure.NewTimeline(measure.Setup{}, 0)
	for _, sent := range []int64{0, 50 * ms} {
		tl.Add(&record.Record{Due: sent, Sent: sent, First: sent + ms, End: sent + 150*ms, Responses: 1})
	}
	tl.Add(&record.Record{Sent: 10 * ms, End: 20 * ms, Class: record.Server})
	r := tl.Result(200 * ms)
	if len(r.Slices) != 3 { // the last end lies on an edge, which opens a slice
		t.Fatalf("%d slices", len(r.Slices))
	}
	a, b := r.Slices[0], r.Slices[1]
	if a.Sent != 3 || a.Ended != 0 || a.Failed != 1 || a.FailedBy["server"] != 1 {
		t.Errorf("first slice: %+v", a)
	}
	// in flight: 100 ms + 50 ms + 10 ms of 100 ms, then 50 ms + 100 ms
	if math.Abs(a.InFlight-1.6) > 1e-9 || math.Abs(b.InFlight-1.5) > 1e-9 {
		t.Errorf("in flight %v and %v, want 1.6 and 1.5", a.InFlight, b.InFlight)
	}
	if b.Ended != 1 || b.MaxNs != 150*ms || b.P50Ns < 145*ms || b.P50Ns > 150*ms || len(b.Heat) != 1 {
		t.Errorf("second slice: %+v", b)
	}
}

// However long a run is, its timeline stays small and nothing is lost.
func TestTimelineIsBounded(t *testing.T) {
	tl := measure.NewTimeline(measure.Setup{Open: true}, 0)
	const n = 10_000
	for i := range int64(n) {
		at := i * 1000 * ms
		tl.Add(&record.Record{Due: at, Sent: at, End: at + 500*ms, Responses: 1})
	}
	r := tl.Result(n * 1000 * ms)
	if len(r.Slices) > 240 {
		t.Errorf("%d slices", len(r.Slices))
	}
	var sent, ended uint64
	var flight, asked float64
	for _, s := range r.Slices {
		sent += s.Sent
		ended += s.Ended
		flight += s.InFlight
		asked += s.Asked
	}
	if sent != n || ended != n {
		t.Errorf("sent %d, ended %d of %d", sent, ended, n)
	}
	k := float64(len(r.Slices))
	if math.Abs(flight/k-0.5) > 0.01 || math.Abs(asked/k-1) > 0.02 {
		t.Errorf("in flight %v, asked %v a second; want 0.5 and 1", flight/k, asked/k)
	}
}

func BenchmarkTimelineAdd(b *testing.B) {
	tl := measure.NewTimeline(measure.Setup{}, 0)
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		at := i * 1000
		tl.Add(&record.Record{Sent: at, End: at + 80_000, Responses: 1})
	}
}
