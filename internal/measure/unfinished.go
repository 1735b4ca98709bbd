package measure

import (
	"math"
	"slices"
	"sort"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// Pending is a request that was in flight at the end of a window.
type Pending struct {
	Slot      uint32
	Due, Sent int64
	// Waiting: no response had arrived.
	Waiting bool
}

// Close sets the end of the window and the requests that are in flight then. Their time in flight counts up to the end.
func (w *Window) Close(until int64, pending []Pending) {
	if len(w.unfinished) == 0 || until > w.until {
		w.until = until
	}
	for _, p := range pending {
		w.flightNs += max(0, until-max(p.Sent, w.from))
		if p.Sent >= w.from {
			w.span.send(p.Due, p.Sent)
		}
	}
	if !w.setup.EndedOnly {
		w.unfinished = append(slices.Clip(w.unfinished), pending...)
	}
}

// Cut adds a request that was canceled at the end of the measurement. The caller adds its record too.
func (w *Window) Cut(p Pending, at int64) {
	w.until = max(w.until, at)
	w.unfinished = append(w.unfinished, p)
}

// ages returns the ages of the requests in flight at the end, in ascending order. since returns where the time of a request
// begins, or false for a request to ignore.
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
// A request in flight of age a has a latency above a. If a is below the percentile, the request does not affect it. The
// percentile is computed over the ended requests and the older ones in flight, each with its age. If one of the two requests
// next to the rank is in flight, the percentile is only known to be at least the one over the ended requests and all requests
// in flight, each with its age.
//
// ended returns the latency of rank k of the n requests that ended.
func withUnfinished(n int, ended func(k int) float64, ages []int64, q result.Percentile) result.Percentile {
	first := sort.Search(len(ages), func(i int) bool { return ages[i] > q.Ns })
	older := ages[first:]
	if n == 0 || len(older) == 0 {
		return q
	}
	with := func(inFlight []int64) (ns int64, atLeast bool) {
		v := stats.Interpolate(q.P, n+len(inFlight), func(k int) float64 {
			v, age := rankWith(inFlight, k, n, ended)
			atLeast = atLeast || age
			return v
		})
		return int64(v), atLeast
	}
	if q.Ns, q.AtLeast = with(older); !q.AtLeast {
		return q
	}
	// The bound must hold for any latency of the younger requests, so they count with their ages too.
	q.Ns, _ = with(ages)
	q.Above = uint64(len(older))
	upTo := stats.Interpolate(q.P, n+len(older), func(k int) float64 { // if none of the older ones ever ends
		if k < n {
			return ended(k)
		}
		return math.Inf(1)
	})
	if !math.IsInf(upTo, 1) {
		q.UpToNs = int64(upTo)
	}
	return q
}

// rankWith is the value of a rank among ascending ages and the latencies of n ended requests, and whether it is an age.
func rankWith(ages []int64, rank, n int, ended func(k int) float64) (value float64, age bool) {
	// With i of the ages below the rank, rank-i latencies are.
	i := sort.Search(len(ages), func(i int) bool {
		below := rank - i
		return below <= n && (below <= 0 || ended(below-1) <= float64(ages[i]))
	})
	below := rank - i
	if i == len(ages) || below < n && ended(below) <= float64(ages[i]) {
		return ended(below), false
	}
	return float64(ages[i]), true
}

// A level with a percentile that is only a bound is long enough if the percentile is at most maxOpen times higher, or if the
// requests in flight move its rank by no more than chance does: maxRanks standard deviations of the rank.
const (
	maxOpen  = 1.1
	maxRanks = 2
)

// judged are the percentiles that a level must be long enough for.
var judged = []float64{50, 90, 95, 99}

// tooShort finds the first percentile that the requests in flight at the end leave open. extra is one more percentile to
// check; 0 for none.
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
