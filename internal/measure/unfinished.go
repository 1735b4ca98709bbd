package measure

import (
	"math"
	"slices"
	"sort"

	"github.com/redline-bench/redline/internal/result"
)

// Pending is a request that was in flight at the end of a window.
type Pending struct {
	Due, Sent int64
	// Waiting: it is known that no response had come.
	Waiting bool
}

// Close sets the end of the window and tells which requests are in flight then. Their time in flight counts up to the
// end.
func (w *Window) Close(until int64, pending []Pending) {
	w.until = until
	for _, p := range pending {
		w.flightNs += max(0, until-max(p.Sent, w.from))
	}
	if !w.setup.EndedOnly {
		w.unfinished = pending
	}
}

// Cut notes a request that was cut at the end of the measurement, whose record is added too.
func (w *Window) Cut(p Pending, at int64) {
	w.until = max(w.until, at)
	w.unfinished = append(w.unfinished, p)
}

// ages are how long the requests in flight at the end had taken by then, in ascending order. since is where the time of a
// request begins; it is false for one that is left out.
func (w *Window) ages(since func(Pending) (int64, bool)) []int64 {
	var out []int64
	for _, p := range w.unfinished {
		if from, ok := since(p); ok {
			out = append(out, max(0, w.until-from))
		}
	}
	slices.Sort(out)
	return out
}

// inFlightAtEnd is the number of requests in flight at the end, and the greatest age of one.
func (w *Window) inFlightAtEnd() (n uint64, oldest int64) {
	for _, p := range w.unfinished {
		oldest = max(oldest, w.until-w.setup.begin(p.Due, p.Sent))
	}
	return uint64(len(w.unfinished)), oldest
}

// withUnfinished corrects a percentile of the ended requests for those in flight at the end.
//
// A request in flight at age a will have a latency above a. One whose age is below the percentile tells nothing about it.
// Those that are older count: the percentile is taken over the ended requests and the older ones, each at its age. If the
// request at the rank is one of the latter, the percentile is at least its age.
//
// nth is element i of the n sorted latencies of the ended requests.
func withUnfinished(n int, nth func(i int) int64, ages []int64, q result.Percentile) result.Percentile {
	first := sort.Search(len(ages), func(i int) bool { return ages[i] > q.Ns })
	older := ages[first:]
	if n == 0 || len(older) == 0 {
		return q
	}
	rank := int(q.P/100*float64(n+len(older)-1) + 0.5)
	// With i of the older ones below the rank, rank-i ended ones are.
	i := sort.Search(len(older), func(i int) bool {
		ended := rank - i
		return ended <= n && (ended <= 0 || nth(ended-1) <= older[i])
	})
	ended := rank - i
	if i == len(older) || ended < n && nth(ended) <= older[i] {
		q.Ns = nth(ended)
		return q
	}
	q.Ns, q.AtLeast, q.Above = older[i], true, uint64(len(older))
	if rank < n {
		q.UpToNs = nth(rank)
	}
	return q
}

// A level is long enough although a percentile is a bound if the percentile lies at most maxOpen times higher, or if the
// requests in flight move its rank by no more than chance does: maxRanks standard deviations of the rank.
const (
	maxOpen  = 1.1
	maxRanks = 2
)

// judged are the percentiles that a level must be long enough for.
var judged = []float64{50, 90, 95, 99}

// tooShort finds the first percentile that the requests in flight at the end leave open. extra is one more percentile
// to look at; 0 is none.
func tooShort(c *result.Client, extra int) (q result.Percentile, short bool) {
	for _, q := range c.Latency.Percentiles {
		if !slices.Contains(judged, q.P) && q.P != float64(extra) {
			continue
		}
		share := q.P / 100
		chance := maxRanks * math.Sqrt(float64(c.Requests)*share*(1-share))
		if q.AtLeast && (q.UpToNs == 0 || float64(q.UpToNs) > maxOpen*float64(q.Ns) && float64(q.Above) > chance) {
			return q, true
		}
	}
	return q, false
}
