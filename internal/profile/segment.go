package profile

import (
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/segment"
)

// deal says which requests of a level this process sends. Requests of a closed loop go with the slots.
func (m *levelRun) deal(lv *result.Level) segment.Deal { return m.dealOf(lv, m.Plan.Segment) }

// dealOf says which requests of a level a segment sends.
func (m *levelRun) dealOf(lv *result.Level, part segment.Segment) segment.Deal {
	if lv.Mode == plan.Concurrency || lv.Mode == plan.SessionConcurrency {
		return part.Over(lv.Concurrency)
	}
	p := *m.Plan
	p.Segment = part
	return p.Arrivals(m.Model.Sequential(), m.Async)
}

// minRequests is how many requests of this process a window by count has.
func (m *levelRun) minRequests() int { return max(1, m.deal(m.lv).Count(m.Plan.Measure.MinRequests)) }
