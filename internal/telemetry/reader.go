package telemetry

import (
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/vitals"
)

// Reader reads a tally for one receiver. Each receiver has its own, so that each sees the longest pause since its own last read.
type Reader struct {
	tally *Tally

	mu    sync.Mutex
	last  vitals.Reading
	at    int64 // of last
	usage Usage
}

// Usage is the health of the client since the reading before.
type Usage struct {
	CPUCores            float64
	GCPause, SchedDelay time.Duration // the longest
}

// NewReader makes a reader for one receiver.
func (t *Tally) NewReader() *Reader { return &Reader{tally: t, last: vitals.Read(), at: clock.Now()} }

// Read shows every level and the client's health since the last Read. fn must not keep the levels.
func (r *Reader) Read(fn func(levels []*Level, usage Usage)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, at := vitals.Read(), clock.Now()
	if d := time.Duration(at - r.at); d > 0 {
		u := now.Since(r.last)
		r.usage = Usage{CPUCores: u.CPU.Seconds() / d.Seconds(), GCPause: u.GCPause, SchedDelay: u.SchedDelay}
		r.last, r.at = now, at
	}
	r.tally.mu.Lock()
	defer r.tally.mu.Unlock()
	fn(r.tally.levels, r.usage)
}
