package engine

import (
	"context"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
)

// watchDeadlines ends requests that are older than the deadline.
func (e *Engine) watchDeadlines(ctx context.Context) {
	clock.Every(ctx, max(e.cfg.Timeout/20, 10*time.Millisecond), func() { e.timeOut(clock.Now() - int64(e.cfg.Timeout)) })
}

// timeOut ends the requests that were sent before a time.
func (e *Engine) timeOut(oldest int64) {
	for _, s := range e.snapshot() {
		sequence := s.sequence.Load() // before the send time, which is then of this request or of a later one
		if since := s.since.Load(); since > 0 && since < oldest {
			e.Cut(s.call.Slot, sequence, record.Timeout)
		}
	}
}
