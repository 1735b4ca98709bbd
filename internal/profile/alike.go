package profile

import (
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
)

// closedLoop is the closed loop of a level. In perf_analyzer mode it is split over threads as in perf_analyzer: a thread has
// one synchronous request in flight, or many asynchronous ones, on one stream where there are streams.
func (m *levelRun) closedLoop(concurrency, limit int) *engine.Closed {
	c := &engine.Closed{Concurrency: concurrency, Limit: limit}
	if m.Plan.Face != plan.DropIn {
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

// order is how sequences take turns. Several requests of a sequence may be in flight, unless the user wants it otherwise or
// calls are synchronous. perf_analyzer does so also where nothing keeps the requests in order on their way, and the server
// then refuses some; under our own name only streams have several requests of a sequence in flight.
func (m *levelRun) order() engine.Order {
	switch {
	case m.Plan.Input.SerialSequences, m.Async && m.Plan.Face == plan.Redline && !m.streamed():
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
