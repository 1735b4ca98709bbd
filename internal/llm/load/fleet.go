package load

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
)

// Fleet is workers on several machines that make the load of a run together; fleet.Run is one. Each has a Share. Times are readings of
// this process's clock.
type Fleet interface {
	requests
	// Begin has all workers begin a phase of the level together. starts is told the time before the first request is sent; no record is
	// collected while it runs.
	Begin(ctx context.Context, o Order, starts func(at int64)) error
	// Finished blocks until the workers have ended the phase, or ctx ends.
	Finished(ctx context.Context) error
	// Open names the function that receives all records, with what a Share passes on of each request.
	Open(collect func(r *record.Record, events []record.Event, data []byte))
	// Sync waits until the records of all requests that have ended until now are collected; Look does not wait. Both then call fn
	// while no record is collected.
	Look(fn func())
	ClearFailures()
	measure.Workers
	// Broken is why the workers cannot go on; nil while they can.
	Broken() error
}

// Order is a phase of a level for the workers of a fleet, and what they pass on of each request besides its times and counts.
type Order struct {
	Warmup bool `json:"warmup,omitempty"`
	Text   bool `json:"text,omitempty"`
	Wire   bool `json:"wire,omitempty"`
	Bodies bool `json:"bodies,omitempty"`
}

// remote is the requests of a fleet.
type remote struct{ Fleet }

func openFleet(f Fleet, collect func(r *record.Record, events []record.Event, data []byte)) remote {
	f.Open(collect)
	f.ClearFailures()
	return remote{f}
}

// Sync implements requests. Looks at a load in progress need not wait for all records.
func (r remote) Sync(fn func()) { r.Look(fn) }

// Wait implements requests. It returns when all records are collected.
func (r remote) Wait(ctx context.Context) error {
	err := r.Fleet.Wait(ctx)
	r.Fleet.Sync(func() {})
	return err
}

// conduct carries out a phase that the workers of a fleet make.
func (r *run) conduct(ctx, hard context.Context, p *phase) error {
	r.ready(ctx, p)
	defer p.cancel()
	if r.cfg.Measured != nil && !p.warm {
		r.cfg.Measured()
	}
	r.watch.reset(r.cfg.First)
	f := r.cfg.Fleet
	f.Sync(func() {}) // every worker has sent a reading
	p.from = profile.ReadState(f)
	o := Order{Warmup: p.warm, Text: r.cfg.KeepText, Wire: r.cfg.KeepWire, Bodies: r.cfg.Bodies != nil}
	if err := f.Begin(ctx, o, func(at int64) {
		p.start = at
		p.counted = p.lastCounted(r.cfg.Options.Cooldown)
		r.begin(p, at)
	}); err != nil {
		return err
	}
	var done sync.WaitGroup
	defer done.Wait()
	over, end := context.WithCancel(hard)
	defer end()
	p.pending.Add(1) // the workers
	done.Go(func() {
		_ = f.Finished(over)
		p.last.Store(true)
		p.drop()
	})
	return r.finish(ctx, hard, p, func() {})
}

// endFleet notes when a phase of a fleet ended: the records come a moment later. It does nothing in a run without a fleet.
func (r *run) endFleet(p *phase) {
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
	if err := r.cfg.Fleet.Broken(); err != nil && r.stop.text == "" {
		r.stop.text = err.Error()
	}
}

// holding is records of a fleet that ended after the time of a look at the measurement.
type holding struct {
	after int64 // 0 between looks
	list  []held
}

type held struct {
	rec  record.Record
	data []byte
}

// records are the records that are held.
func (h *holding) records() []record.Record {
	out := make([]record.Record, len(h.list))
	for i := range h.list {
		out[i] = h.list[i].rec
	}
	return out
}

// look calls fn when exactly the requests that have ended until now are counted, with this time. The records of a fleet come later: those
// of requests that end after this time wait until fn has returned.
func (r *run) look(fn func(now int64)) {
	f := r.cfg.Fleet
	if f == nil {
		now := clock.Now()
		r.eng.Sync(func() { fn(now) })
		return
	}
	f.Look(func() { r.hold.after = clock.Now() })
	f.Sync(func() {
		fn(r.hold.after)
		list := r.hold.list
		r.hold = holding{}
		for i := range list {
			r.receive(&list[i].rec, nil, list[i].data)
		}
	})
}

// receive counts a request of a worker.
func (r *run) receive(rec *record.Record, _ []record.Event, data []byte) {
	if r.hold.after > 0 && rec.End > r.hold.after {
		r.hold.list = append(r.hold.list, held{*rec, slices.Clone(data)})
		return
	}
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
