package result

import (
	"fmt"
	"time"
)

// Hold describes requests that Triton's dynamic batcher held for about 500 ms although an instance was idle.
type Hold struct {
	Requests uint64  `json:"requests"`
	Times    int     `json:"times"`     // number of holds; requests in flight together are held together
	WaitedNs int64   `json:"waited_ns"` // sum over these requests of latency − median latency
	Share    float64 `json:"share"`     // of all time in flight
}

// String describes the hold and its cost.
func (h *Hold) String() string {
	return fmt.Sprintf("%d requests waited about 500 ms in its queue, at %d separate times, and the others hardly waited. Triton's dynamic batcher does this to "+
		"requests that come right after a response. It cost %s, %.2g %% of the time in flight; redline profile --think-time makes it rarer",
		h.Requests, h.Times, time.Duration(h.WaitedNs).Round(100*time.Millisecond), 100*h.Share)
}
