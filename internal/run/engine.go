package run

import (
	"context"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/vitals"
)

// Engine is the load of this process.
type Engine struct {
	*engine.Engine
	loop     func(*Order) engine.Loop
	periodic atomic.Pointer[engine.Periodic] // the last load, if it is one of these
	collect  Collect
	flying   Flying
}

var _ Load = (*Engine)(nil)

// OpenEngine connects an engine to the service of conf. loop makes the loop of an order; nil where this process has nothing to send of it.
func OpenEngine(ctx context.Context, conf engine.Config, loop func(*Order) engine.Loop) (*Engine, error) {
	e := &Engine{loop: loop, collect: conf.Collect}
	conf.Collect = e.take
	var err error
	e.Engine, err = engine.Open(ctx, conf)
	return e, err
}

func (e *Engine) take(r *record.Record, events []record.Event, data []byte) {
	e.flying.Ended(r)
	e.collect(r, events, data)
}

// Begin implements Load.
func (e *Engine) Begin(ctx context.Context, o Order) error {
	if o.Restart {
		e.Restart()
	}
	if o.Clear {
		e.ClearFailures()
	}
	loop := e.loop(&o)
	periodic, _ := loop.(*engine.Periodic)
	e.periodic.Store(periodic)
	if loop == nil {
		return nil
	}
	return e.StartWhen(ctx, loop, o.Start(e))
}

// Start is asked for the time at which an engine begins the order: that of When, or now.
func (o *Order) Start(e *Engine) func(ctx context.Context) (int64, error) {
	return func(ctx context.Context) (at int64, err error) {
		if at = clock.Now(); o.When != nil {
			at, err = o.When(ctx)
		}
		if err == nil && o.Starts != nil {
			e.Sync(Vitals, func(s *State) { o.Starts(at, s) })
		}
		return at, err
	}
}

// Wait implements Load.
func (e *Engine) Wait(ctx context.Context) error { return e.Finished(ctx) }

// Cut implements Load.
func (e *Engine) Cut() { e.Cancel(context.Background()) }

// Sync implements Load.
func (e *Engine) Sync(d Detail, fn func(*State)) {
	s := State{Working: e.Working()} // before the records are collected: what ended the load is among them
	if d < Flights {
		e.Engine.Sync(func() {
			e.read(&s, d)
			fn(&s)
		})
		return
	}
	e.Engine.Sync(func() {
		e.read(&s, d)
		e.flying.Begin(e.Flights())
	})
	e.Engine.Sync(func() { // what was listed and has ended is collected now
		s.Flights = e.flying.End()
		fn(&s)
	})
}

func (e *Engine) read(s *State, d Detail) {
	s.State = measure.State{Stalled: e.Stalled(), Dropped: e.Dropped(), Behind: e.Behind()}
	s.Connections, s.Busiest = e.Connections()
	s.InFlight, s.Scheduled = e.InFlight(), e.Scheduled()
	s.Failures, s.WorkerErrors, s.Err = e.Failures(), e.WorkerErrors(), e.err(s.Working)
	if d >= Vitals {
		s.Vitals = vitals.Read()
	}
	s.At, s.Sent = clock.Now(), e.Sent()
}

// err is why the load cannot go on.
func (e *Engine) err(working bool) error {
	if stall := e.GivenUp(); stall != nil {
		return stall
	}
	if p := e.periodic.Load(); p != nil && !working {
		return p.Err()
	}
	return nil
}
