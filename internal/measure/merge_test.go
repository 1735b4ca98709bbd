package measure_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/testkit"
)

// randomRecords are the records of a load, in the order in which they ended.
func randomRecords(rng *rand.Rand) []record.Record {
	list := make([]record.Record, rng.IntN(2000))
	for i := range list {
		due := ms + rng.Int64N(60_000*ms)
		r := record.Record{Due: due, Sent: due + rng.Int64N(5*ms), Responses: uint32(rng.IntN(4)), In: rng.Uint64N(1 << 20), Out: rng.Uint64N(1 << 20)}
		r.Written = r.Sent + rng.Int64N(ms)
		r.First = r.Written + rng.Int64N(100*ms)
		r.End = r.First + rng.Int64N(2000*ms)
		r.Flags = uint8(rng.IntN(2)) * uint8(rng.IntN(32))
		r.Late = int64(rng.IntN(2)) * rng.Int64N(ms)
		if rng.IntN(10) == 0 {
			r.Class = record.Class(rng.IntN(int(record.NumClasses)))
		}
		list[i] = r
	}
	slices.SortFunc(list, func(a, b record.Record) int { return int(a.End - b.End) })
	return list
}

func randomSetup(rng *rand.Rand) measure.Setup {
	return measure.Setup{Batch: 1 + rng.IntN(4), Open: rng.IntN(2) == 0, FromSend: rng.IntN(2) == 0, Streaming: rng.IntN(2) == 0, Percentile: rng.IntN(2) * 85}
}

// rounding lets deviations, which are sums in another order, differ by the last nanosecond.
var rounding = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Std" },
	cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1 }))

// Records cut into windows at any times are the records of the whole run: each is in one window, and the windows merged
// have the numbers of one window over all.
func TestWindowsAreTheWholeRun(t *testing.T) {
	testkit.Rounds(t, 100, func(t *testing.T, rng *rand.Rand) {
		list, setup := randomRecords(rng), randomSetup(rng)
		whole, merged := measure.NewWindow(setup), measure.NewWindow(setup)
		parts := []*measure.Window{measure.NewWindow(setup)}
		for i := range list {
			if rng.IntN(100) == 0 { // an edge; windows may be empty
				for range 1 + rng.IntN(2) {
					parts = append(parts, measure.NewWindow(setup))
				}
			}
			whole.Add(&list[i])
			parts[len(parts)-1].Add(&list[i])
		}
		var requests, failed uint64
		for _, w := range parts {
			requests, failed = requests+w.Requests(), failed+w.Failed()
			merged.Merge(w)
		}
		var ok, bad uint64
		for _, r := range list {
			switch {
			case r.Flags&record.Closing != 0, r.Class == record.Canceled:
			case r.Class == record.OK:
				ok++
			default:
				bad++
			}
		}
		if requests != ok || failed != bad {
			t.Errorf("windows have %d requests and %d failures of %d and %d", requests, failed, ok, bad)
		}
		if d := cmp.Diff(whole.Client(time.Minute), merged.Client(time.Minute), rounding); d != "" {
			t.Errorf("one window (-), merged windows (+): %s", d)
		}
		load := measure.Load{Wall: time.Minute, Rate: 10, SendRate: 10, MaxProcs: 2}
		if d := cmp.Diff(whole.Health(load), merged.Health(load)); d != "" {
			t.Errorf("health of one window (-), of merged windows (+): %s", d)
		}
		if d := cmp.Diff(whole.Histogram(), merged.Histogram()); d != "" {
			t.Errorf("histogram of one window (-), of merged windows (+): %s", d)
		}
	})
}

// A timeline has every record once, however often its slices were joined, and does not depend on the order in which
// records come.
func TestATimelineHasEveryRecordOnce(t *testing.T) {
	testkit.Rounds(t, 50, func(t *testing.T, rng *rand.Rand) {
		list, setup := randomRecords(rng), randomSetup(rng)
		start := rng.Int64N(1000 * ms)
		ordered, shuffled := measure.NewTimeline(setup, start), measure.NewTimeline(setup, start)
		var want result.Slice
		end := start
		for i := range list {
			r := &list[i]
			ordered.Add(r)
			if r.Flags&record.Closing != 0 {
				continue
			}
			end = max(end, r.End)
			if r.Sent >= start {
				want.Sent++
			}
			switch {
			case r.End < start, r.Class == record.Canceled:
			case r.Class == record.OK:
				want.Ended++
				want.Events += uint64(r.Responses)
			default:
				want.Failed++
			}
		}
		for _, i := range rng.Perm(len(list)) {
			shuffled.Add(&list[i])
		}
		a := ordered.Result(end)
		var got result.Slice
		for _, s := range a.Slices {
			got.Sent, got.Ended, got.Failed, got.Events = got.Sent+s.Sent, got.Ended+s.Ended, got.Failed+s.Failed, got.Events+s.Events
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("records (-), slices (+): %s", d)
		}
		if d := cmp.Diff(a, shuffled.Result(end), cmpopts.EquateApprox(1e-12, 0)); d != "" {
			t.Errorf("in order (-), shuffled (+): %s", d)
		}
	})
}
