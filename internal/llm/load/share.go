package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/record"
)

// Share is a worker's share of the levels of a fleet's run: it sends the requests of its segment and passes on what it read of each. It
// measures nothing. One phase is carried out at a time.
type Share struct {
	hard context.Context
	r    *run
	send func(r *record.Record, events []record.Event, data []byte)
	row  []byte

	work   sync.WaitGroup // of the phase under way
	active atomic.Bool    // a phase is under way
	err    atomic.Pointer[error]
}

// mostRow limits what a worker passes on of one request: a message of NATS has at most 1 MiB, and other records are in it too.
const mostRow = 512 << 10

// OpenShare connects a share to the service of cfg. collect receives the record of each request and what Config.Fleet's receiver needs of
// it. Close must be called. hard cuts what is in flight.
func OpenShare(hard context.Context, cfg Config, collect func(r *record.Record, events []record.Event, data []byte)) (*Share, error) {
	r, err := newRun(hard, &cfg, Level{})
	if err != nil {
		return nil, err
	}
	q := &Share{hard: hard, r: r, send: collect}
	r.forward = q.forward
	return q, nil
}

// Start begins this worker's share of a phase of a level, at the time that begin returns when its slots are made. Nothing more is sent
// after ctx has ended.
func (q *Share) Start(ctx context.Context, cfg Config, lv Level, warm bool, begin func(context.Context) (int64, error)) error {
	q.work.Wait()
	cfg.Options.Until = nil // the coordinator knows the samples of all workers
	r := q.r
	r.choose(&cfg, lv)
	p := newPhase(&cfg.Options, lv, warm)
	loading := r.ready(ctx, p)
	supply, err := r.newSupply(p)
	if err != nil {
		p.cancel()
		return err
	}
	p.supply = supply
	r.eng.Sync(func() {
		r.stop.text, r.stop.interrupted, r.stop.failures = "", false, false
		r.begin(p, 0)
	})
	stop, err := r.start(loading, p, func(ctx context.Context) (int64, error) {
		at, err := begin(ctx)
		p.start = at
		return at, err
	})
	if err != nil {
		p.finish()
		supply.close(context.WithoutCancel(ctx)) // the next phase has another one
		return err
	}
	q.active.Store(true)
	watched := context.AfterFunc(ctx, func() { r.release(p) })
	q.work.Go(func() {
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

// Working tells whether a request is in flight or will yet be sent.
func (q *Share) Working() bool { return q.active.Load() }

// Err is why the worker cannot go on, such as prompts that cannot be read; nil while it can.
func (q *Share) Err() error {
	if err := q.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Engine is the engine that makes the load.
func (q *Share) Engine() *engine.Engine { return q.r.own }

// Standstill is the longest time between two readings of the clock in which this process did not run, in nanoseconds.
func (q *Share) Standstill(from, to int64) int64 { return int64(q.r.pulse.Longest(from, to)) }

// Close ends the load and the connections. What is in flight is canceled when hard has ended.
func (q *Share) Close() error {
	q.Stop()
	q.work.Wait()
	q.r.pulse.Stop()
	return q.r.own.Close()
}
