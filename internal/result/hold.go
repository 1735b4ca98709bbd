package result

import (
	"fmt"
	"time"
)

// Hold is what is known of requests that Triton's dynamic batcher held for about 500 ms although an instance was idle.
type Hold struct {
	Requests uint64  `json:"requests"`
	Times    int     `json:"times"`     // how often; requests in flight together are held together
	WaitedNs int64   `json:"waited_ns"` // how much longer than the median these requests took, all together
	Share    float64 `json:"share"`     // of all time in flight
}

// String says what happened, and what it cost.
func (h *Hold) String() string {
	return fmt.Sprintf("%d requests waited about 500 ms in its queue, at %d separate times, and the others hardly waited. Triton's dynamic batcher does this to "+
		"requests that come right after a response. It cost %s, %.2g %% of the time in flight; redline profile --think-time makes it rarer",
		h.Requests, h.Times, time.Duration(h.WaitedNs).Round(100*time.Millisecond), 100*h.Share)
}
