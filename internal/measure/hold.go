package measure

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// Triton's dynamic batcher can miss a request that arrives right after a response. The request then waits in the queue until
// the batcher checks again, 500 ms after it began to wait, although an instance is idle.
const (
	holdTime = int64(500 * time.Millisecond)
	// The wait of a request is its latency above the median. The longest wait of a hold differs from holdTime by holdError at
	// most, and is shorter by the time that requests usually wait in the queue, holdQueue at most. Requests that came later
	// during the hold waited for holdLeast at least.
	holdError = int64(25 * time.Millisecond)
	holdQueue = int64(50 * time.Millisecond)
	holdLeast = int64(350 * time.Millisecond)
	// minHolds is how many holds must be seen, at separate times: one pause of a server may last 500 ms by chance.
	minHolds = 3
	// maxHeld is the largest share of requests that are held: most requests must show the usual latency.
	maxHeld = 0.25
	// maxStrays limits the requests that are neither held nor within holdNear of the median, as a share of the held ones.
	maxStrays = 0.1
	holdNear  = int64(100 * time.Millisecond)
	// minQueued is the smallest share of the group's wait that the server's queue time must account for.
	minQueued = 0.9
	// maxForeign is the largest share of other clients' requests in the server's counts.
	maxForeign = 0.1
)

// maxSlow limits the number of slow requests that a window keeps.
const maxSlow = 1 << 12

// slow are requests that may have been held.
type slow struct {
	list []flight
	full bool // more than maxSlow requests were slow
}

// flight is the send time and the end of a request.
type flight struct{ sent, end int64 }

func (s *slow) add(r *record.Record) {
	if r.End-r.Sent >= holdLeast {
		s.merge(slow{list: []flight{{r.Sent, r.End}}})
	}
}

func (s *slow) merge(o slow) {
	n := min(len(o.list), maxSlow-len(s.list))
	s.list, s.full = append(s.list, o.list[:n]...), s.full || o.full || n < len(o.list)
}

// Hold returns which requests of the window Triton held, and what that cost; nil if it held none or the evidence is not clear.
// queue is the server's count of the window.
//
// Both sides must agree. The client saw requests that took about 500 ms longer than the median, at three separate times or more,
// and hardly any request in between. In the server's statistics the time in the queue equals what these requests waited, and the
// others hardly waited. A slow model, a full queue or a server that pauses shows only one of these.
func (w *Window) Hold(m *service.Model, queue service.Tally) *result.Hold {
	n := int(w.sent.Count())
	if n == 0 || w.slow.full || m.Scheduler != service.DynamicBatcher || int64(m.MaxQueueDelay) > holdQueue {
		return nil
	}
	nth := w.sent.Ranks()
	usual := int64(nth(n / 2))
	far := n - sort.Search(n, func(i int) bool { return nth(i) > float64(usual+holdNear) })
	h := result.Hold{}
	for _, g := range overlapping(w.slow.list, usual) {
		if g.longest >= holdTime-holdError-min(usual, holdQueue) && g.longest <= holdTime+holdError {
			h.Times++
			h.Requests += g.requests
			h.WaitedNs += g.waited
		}
	}
	held := float64(h.Requests)
	if h.Times < minHolds || held > maxHeld*float64(n) || float64(far)-held > maxStrays*held {
		return nil
	}
	others := float64(queue.Ns) - float64(h.WaitedNs)
	if float64(queue.Count) > (1+maxForeign)*float64(n) || float64(queue.Ns) < minQueued*float64(h.WaitedNs) ||
		others > float64(holdQueue)*max(0, float64(queue.Count)-held) {
		return nil
	}
	h.Share = float64(h.WaitedNs) / float64(w.flightNs)
	return &h
}

// together is a group of requests that waited at the same time: their number, the sum of their waits, and the longest wait.
type together struct {
	requests        uint64
	waited, longest int64
}

// overlapping groups the requests that took longer than usual by holdLeast or more.
func overlapping(list []flight, usual int64) []together {
	list = slices.SortedFunc(slices.Values(list), func(a, b flight) int { return cmp.Compare(a.sent, b.sent) })
	var groups []together
	var end int64
	for _, f := range list {
		wait := f.end - f.sent - usual
		if wait < holdLeast {
			continue
		}
		if len(groups) == 0 || f.sent >= end {
			groups = append(groups, together{})
		}
		g := &groups[len(groups)-1]
		g.requests, g.waited, g.longest = g.requests+1, g.waited+wait, max(g.longest, wait)
		end = max(end, f.end)
	}
	return groups
}
