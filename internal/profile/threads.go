package profile

import (
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
)

// divide splits a closed loop over threads where the plan asks for it: one thread carries one synchronous request, or many
// asynchronous ones, on one stream where there are streams.
func (m *levelRun) divide(concurrency int) error {
	if !m.Plan.Load.PerThread {
		return nil
	}
	if !m.Async {
		m.eng.Shares(concurrency)
		return nil
	}
	threads := m.Plan.Load.MaxThreads
	m.eng.Shares(threads)
	if m.streamed() && !m.Model.Sequential() {
		return m.eng.Track(threads)
	}
	return nil
}

// turn is how sequences take turns. Several requests of a sequence may be in flight where a stream keeps their order or the
// plan allows it without one, unless the user asks for serial sequences or calls are synchronous.
func (m *levelRun) turn() engine.Turn {
	switch {
	case m.Plan.Input.SerialSequences, m.Async && !m.Plan.Input.OverlapSequences && !m.streamed():
		return engine.Serial
	case m.Async:
		return engine.Random
	default:
		return engine.Blocking
	}
}

// streamed tells whether requests go over streams that outlive them.
func (m *levelRun) streamed() bool {
	return m.Plan.Target.Streaming && m.Plan.Target.Kind == plan.Triton
}
