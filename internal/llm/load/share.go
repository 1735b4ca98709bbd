package load

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/run"
)

// Part is what a worker does in a phase of a level.
type Part struct {
	Config Config
	Level  Level
	Warmup bool
}

var _ run.Load = (*Share)(nil)

// Share is a worker's share of the levels of a fleet's run: it sends the requests of its segment and passes on what it read of each. It
// measures nothing. One phase is carried out at a time.
type Share struct {
	hard context.Context
	r    *levelRun
	read func(phase json.RawMessage) (Part, error)
	send run.Collect
	row  []byte

	work   sync.WaitGroup // of the phase under way
	active atomic.Bool    // a phase is under way
	idle   chan struct{}  // closed when no phase is under way
	err    atomic.Pointer[error]
}

// mostRow limits what a worker passes on of one request: a message of NATS has at most 1 MiB, and other records are in it too.
const mostRow = 512 << 10

// OpenShare connects a share to the service of cfg. read understands the phases of orders. collect receives the record of each request and
// what the coordinator's levels need of it. Close must be called. hard cuts what is in flight.
func OpenShare(hard context.Context, cfg Config, read func(phase json.RawMessage) (Part, error), collect run.Collect) (*Share, error) {
	r, err := newRun(hard, &cfg, Level{})
	if err != nil {
		return nil, err
	}
	q := &Share{hard: hard, r: r, read: read, send: collect, idle: make(chan struct{})}
	close(q.idle)
	r.forward = q.forward
	return q, nil
}

// Begin implements run.Load. Nothing more is sent after ctx has ended.
func (q *Share) Begin(ctx context.Context, o run.Order) error {
	part, err := q.read(o.Phase)
	if err != nil {
		return err
	}
	q.work.Wait()
	part.Config.Options.Until = nil // the coordinator knows the samples of all workers
	r := q.r
	if o.Clear {
		r.own.ClearFailures()
	}
	r.choose(&part.Config, part.Level)
	p := newPhase(&part.Config.Options, part.Level, part.Warmup)
	loading := r.ready(ctx, p)
	supply, err := r.newSupply(p)
	if err != nil {
		p.cancel()
		return err
	}
	p.supply = supply
	r.eng.Sync(run.Glance, func(*run.State) {
		r.stop.text, r.stop.interrupted, r.stop.failures = "", false, false
		r.begin(p, 0)
	})
	o.Starts = func(at int64, _ *run.State) { p.start = at }
	stop, err := r.start(loading, p, o.Start(r.own))
	if err != nil {
		p.finish()
		supply.close(context.WithoutCancel(ctx)) // the next phase has another one
		return err
	}
	idle := make(chan struct{})
	q.idle = idle
	q.active.Store(true)
	watched := context.AfterFunc(ctx, func() { r.release(p) })
	q.work.Go(func() {
		defer close(idle)
		defer q.active.Store(false)
		defer watched()
		if err := r.finish(q.hard, q.hard, p, stop); err != nil {
			q.err.Store(&err)
		}
		supply.close(q.hard)
	})
	return nil
}

// forward passes a request on.
func (q *Share) forward(a *ask, s *llm.Sample, rec *record.Record) {
	q.row = pack(q.row[:0], a, s)
	if n := len(q.row); n > mostRow {
		a.phase.fail(fmt.Errorf("a request with its texts takes %d KiB, and a worker can send %d KiB of a request: write fewer files, without raw, inputs and outputs of --exports", n>>10, mostRow>>10))
		return
	}
	q.send(rec, nil, q.row)
}

// Stop ends the phase: nothing more is sent. Requests in flight go on.
func (q *Share) Stop() {
	if p := q.r.now.Load(); p != nil && q.active.Load() {
		q.r.release(p)
	}
}

// Cut cancels the requests in flight.
func (q *Share) Cut() {
	if p := q.r.now.Load(); p != nil && q.active.Load() {
		p.cut.Store(true)
		q.work.Wait()
	}
}

// Wait implements run.Load.
func (q *Share) Wait(ctx context.Context) error {
	select {
	case <-q.idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sync implements run.Load. A share cannot go on if its prompts cannot be read.
func (q *Share) Sync(d run.Detail, fn func(*run.State)) {
	working := q.active.Load()
	q.r.eng.Sync(d, func(s *run.State) {
		s.Working = working
		if err := q.err.Load(); err != nil {
			s.Err = *err
		}
		fn(s)
	})
}

// Failed implements run.Load.
func (q *Share) Failed() <-chan struct{} { return q.r.eng.Failed() }

// Close ends the load and the connections. What is in flight is canceled when hard has ended.
func (q *Share) Close() error {
	q.Stop()
	q.work.Wait()
	q.r.pulse.Stop()
	return q.r.own.Close()
}
