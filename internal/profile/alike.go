package profile

import (
	"context"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
)

// alike has a closed load dealt out as the original does it, under its name: one thread carries one synchronous request,
// or many asynchronous ones, on one stream where there are streams.
func (m *levelRun) alike(ctx context.Context, concurrency int) error {
	if m.Plan.Face != plan.DropIn {
		return nil
	}
	m.eng.TurnAround(ctx, m.turnAround(concurrency))
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

// turnAround is about what perf_analyzer takes between an answer and the next request, over the time that we take: with it
// both send as many a second to a model of 20 ms. Triton's dynamic batching now and then stalls for half a second when a
// request follows an answer sooner, so under the original's name it is not sent sooner either. Over HTTP several requests go
// one by one: if they waited, the server would have begun with the first when the others come, and would form smaller
// batches than it does for the original. Over gRPC they go together.
func (m *levelRun) turnAround(concurrency int) time.Duration {
	switch t := &m.Plan.Target; {
	case t.Kind != plan.Triton, t.Protocol == plan.HTTP && concurrency > 1:
		return 0
	case t.Protocol == plan.HTTP:
		return 300 * time.Microsecond
	default:
		return 600 * time.Microsecond
	}
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
	return m.Plan.Target.Streaming && m.Plan.Target.Kind == plan.Triton
}
