package profile

import (
	"github.com/redline-bench/redline/internal/engine"
)

// closedLoop is this process's part of a closed loop, which ends after limit requests. Where the plan asks for it, the loop is split over threads: one thread carries one
// synchronous request, or many asynchronous ones, on one stream where there are streams.
func (m *levelRun) closedLoop(concurrency, limit int) *engine.Closed {
	c := &engine.Closed{Concurrency: m.Plan.Segment.Share(concurrency), Whole: concurrency, Limit: limit}
	if m.lv.Idle {
		c.Concurrency = 0
	}
	if !m.Plan.Policies.PerThread {
		return c
	}
	if !m.Async {
		c.LimitParts = concurrency
		return c
	}
	c.LimitParts = m.Plan.Load.MaxThreads
	if m.streamed() && !m.Model.Sequential() {
		c.Tracks = m.Plan.Load.MaxThreads
	}
	return c
}

// order is how sequences take turns. Several requests of a sequence may be in flight where a stream keeps their order or the
// plan allows it without one, unless the user asks for serial sequences or calls are synchronous.
func (m *levelRun) order() engine.Order {
	switch {
	case m.Plan.Input.SerialSequences, m.Async && !m.Plan.Policies.OverlapSequences && !m.streamed():
		return engine.Serial
	case m.Async:
		return engine.Random
	default:
		return engine.Blocking
	}
}

// streamed tells whether requests go over streams that outlive them.
func (m *levelRun) streamed() bool {
	return m.Plan.Target.Streaming && m.SharedStreams
}
