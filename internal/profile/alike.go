package profile

import (
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
)

// alike has a closed load dealt out as the original does it, under its name: one thread carries one synchronous request,
// or many asynchronous ones, on one stream where there are streams.
func (m *levelRun) alike(concurrency int) error {
	if m.Plan.Face != plan.DropIn {
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

// turn is how sequences take turns. Several requests of one may be in flight, unless the user wants it otherwise or calls
// are synchronous. The original does so also where nothing keeps them in order on their way, and the server then
// refuses some; under our own name it is done over streams only.
func (m *levelRun) turn() engine.Turn {
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
