package profile

import (
	"context"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// Share makes a worker's share of each load that the coordinator of a fleet orders, and measures nothing. The plan of its runner says
// which share that is.
type Share struct {
	r    *Runner
	plan *plan.Plan
	eng  *engine.Engine
}

// OpenShare opens the engine of a runner; collect receives its records. Close must be called. hard cuts what is in flight.
func OpenShare(hard context.Context, r *Runner, collect func(r *record.Record, events []record.Event, data []byte)) (*Share, error) {
	r.hard, r.collect = hard, collect
	if err := r.readGaps(hard); err != nil {
		return nil, err
	}
	if err := r.open(hard); err != nil {
		return nil, err
	}
	return &Share{r: r, plan: r.Plan, eng: r.eng.(local).Engine}, nil
}

// Close ends the load and the connections. What is in flight is canceled when hard ends, or after DrainTime.
func (p *Share) Close() error {
	p.eng.Stop()
	p.r.waitForEnds(p.r.hard)
	return p.r.close()
}

// Engine is the engine that makes the load.
func (p *Share) Engine() *engine.Engine { return p.eng }

// Stop ends the load: nothing more is sent. Requests in flight go on.
func (p *Share) Stop() { p.eng.Stop() }

// Cut cancels the requests in flight.
func (p *Share) Cut() {
	ctx, cancel := context.WithCancel(p.r.hard)
	cancel()
	_ = p.eng.Wait(ctx) // its error says that ctx has ended
}

// Working tells whether a request is in flight or will yet be sent.
func (p *Share) Working() bool { return p.eng.Working() }

// Err is why the load cannot go on: an engine always can, and counts what fails.
func (*Share) Err() error { return nil }

// Standstill is the longest time between two readings of the clock in which this process did not run.
func (p *Share) Standstill(from, to int64) int64 { return int64(p.r.pulse.Longest(from, to)) }

// Start begins this worker's share of a level that the whole fleet makes, at the time that begin returns when the slots are made.
// The load ends with ctx.
func (p *Share) Start(ctx context.Context, lv result.Level, limit int, seed uint64, begin func(context.Context) (int64, error)) error {
	p.r.Plan = p.plan.With(func(pl *plan.Plan) { pl.Load.Seed = seed })
	p.r.eng = timed{p.eng, begin}
	m := &levelRun{Runner: p.r, lv: &lv}
	return m.start(ctx, &lv, limit)
}

// timed is the load of this process, begun at a time that is known only when its slots are made.
type timed struct {
	*engine.Engine
	begin func(context.Context) (int64, error)
}

func (t timed) Begin(ctx context.Context, o Order) error { return t.StartWhen(ctx, o.Loop, t.begin) }
