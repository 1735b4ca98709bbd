package servertrace

import (
	"container/heap"
	"slices"

	"github.com/redline-bench/redline/internal/record"
)

// mostKept limits the requests of a level that are kept for Join. The server may trace only one in a thousand.
const mostKept = 1 << 16

// Request is one request of the client. Times are in nanoseconds since the Unix epoch.
type Request struct {
	ID                    uint64
	Due, Sent, First, End int64
}

func (r *Request) latency() int64 { return r.End - min(r.Due, r.Sent) }

// Slowest keeps the slowest requests of a level. The zero value is empty.
type Slowest struct{ heap requests }

// Add keeps a request that succeeded if it is among the slowest. wall turns times of the record into Unix time.
func (s *Slowest) Add(r *record.Record, wall func(int64) int64) {
	if r.Class != record.OK || r.ID == 0 || r.Flags&record.Closing != 0 {
		return
	}
	q := Request{ID: r.ID, Due: wall(r.Due), Sent: wall(r.Sent), First: wall(r.First), End: wall(r.End)}
	switch {
	case len(s.heap) < mostKept:
		heap.Push(&s.heap, q)
	case q.latency() > s.heap[0].latency():
		s.heap[0] = q
		heap.Fix(&s.heap, 0)
	}
}

// requests are the kept requests, slowest first.
func (s *Slowest) requests() []Request {
	out := slices.Clone([]Request(s.heap))
	slices.SortFunc(out, func(a, b Request) int { return int(b.latency() - a.latency()) })
	return out
}

// requests is a heap with the fastest request at its top.
type requests []Request

func (h requests) Len() int           { return len(h) }
func (h requests) Less(i, j int) bool { return h[i].latency() < h[j].latency() }
func (h requests) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *requests) Push(x any)        { *h = append(*h, x.(Request)) }
func (h *requests) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
