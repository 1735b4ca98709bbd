package load

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/run"
)

// Order is a phase of a level for the workers of a fleet, and what they pass on of each request besides its times and counts.
type Order struct {
	Warmup bool `json:"warmup,omitempty"`
	Text   bool `json:"text,omitempty"`
	Wire   bool `json:"wire,omitempty"`
	Bodies bool `json:"bodies,omitempty"`
}

// conduct has the workers of a fleet carry out a phase.
func (r *levelRun) conduct(ctx, hard context.Context, p *phase, o run.Order) (err error) {
	o.Phase, err = json.Marshal(r.cfg.Phase(Order{Warmup: p.warm, Text: r.cfg.KeepText, Wire: r.cfg.KeepWire, Bodies: r.cfg.Bodies != nil}))
	if err != nil {
		return fmt.Errorf("write the phase of the load: %w", err)
	}
	r.eng.Sync(run.Exact, func(*run.State) {}) // every worker has sent a reading
	if err := r.eng.Begin(ctx, o); err != nil {
		return err
	}
	var done sync.WaitGroup
	defer done.Wait()
	over, end := context.WithCancel(hard)
	defer end()
	p.pending.Add(1) // the workers
	done.Go(func() {
		_ = r.eng.Wait(over)
		p.last.Store(true)
		p.drop()
	})
	return r.finish(ctx, hard, p, func() {})
}

// endFleet notes when a phase of a fleet ended: the records come a moment later. It does nothing in a run without a fleet.
func (r *levelRun) endFleet(p *phase, s *run.State) {
	if r.cfg.Fleet == nil {
		return
	}
	ended := r.lastEnd
	if end := p.start + int64(p.duration); p.duration > 0 && p.ended >= end {
		ended = max(ended, end)
	}
	if ended > p.start {
		p.ended = min(p.ended, ended)
	}
	if s.Err != nil && r.stop.text == "" {
		r.stop.text = s.Err.Error()
	}
}

// look calls fn when exactly the requests that have ended until now are counted, with this time and the requests in flight.
func (r *levelRun) look(fn func(now int64, s *run.State)) {
	var now int64
	r.eng.Sync(run.Glance, func(*run.State) {
		now = clock.Now()
		r.inbox.Until(now)
	})
	r.eng.Sync(run.Flights, func(s *run.State) {
		fn(now, s)
		r.inbox.Until(run.HoldNone)
	})
}

// receive counts a request of a worker.
func (r *levelRun) receive(rec *record.Record, _ []record.Event, data []byte) {
	p := r.now.Load()
	a := &ask{phase: p}
	s := &r.sample
	if err := r.unpack(data, rec, a, s); err != nil {
		p.fail(fmt.Errorf("a record of a worker: %w", err))
		return
	}
	s.Warmup = p.warm
	p.started.Add(1)
	r.dropped.Add(uint64(a.dropped))
	if len(a.bodies) > 0 && r.cfg.Bodies != nil {
		r.cfg.Bodies(s.Conversation, a.bodies)
	}
	r.note(a, s)
	r.count(a, s, rec)
}
