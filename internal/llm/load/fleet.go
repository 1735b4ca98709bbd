package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
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
	// Worker is the number of the worker that a slot belongs to. Readings are what the workers have counted until now, by that number.
	Worker(slot uint32) int
	Readings() []profile.Reading
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
	f := r.cfg.Fleet
	f.Sync(func() {}) // every worker has sent a reading
	o := Order{Warmup: p.warm, Text: r.cfg.KeepText, Wire: r.cfg.KeepWire, Bodies: r.cfg.Bodies != nil}
	if err := f.Begin(ctx, o, func(at int64) {
		p.start, p.measured = at, at
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

// receive counts a request of a worker.
func (r *run) receive(rec *record.Record, _ []record.Event, data []byte) {
	p := r.now.Load()
	a := &ask{phase: p}
	s := &r.sample
	if err := r.unpack(data, rec, a, s); err != nil {
		p.fail(fmt.Errorf("a record of worker %d: %w", r.cfg.Fleet.Worker(rec.Slot)+1, err))
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

// parts are what each worker of a fleet did in a phase; the zero value is a run without a fleet.
type parts struct {
	fleet Fleet
	list  []*measure.Part
	from  []profile.Reading
}

// begin starts the parts of a phase at a time.
func (p *parts) begin(f Fleet, setup measure.Setup, from int64) {
	if *p = (parts{fleet: f}); f == nil {
		return
	}
	p.from = f.Readings()
	for range p.from {
		p.list = append(p.list, measure.NewPart(setup, from))
	}
}

// add takes a record into the part of its worker.
func (p *parts) add(rec *record.Record) {
	if p.list != nil {
		p.list[p.fleet.Worker(rec.Slot)].Add(rec)
	}
}

// look makes what each worker has done in a phase that has lasted for elapsed; it is nil without a fleet.
func (p *parts) look(elapsed time.Duration) func() []result.Worker {
	if p.list == nil {
		return nil
	}
	return func() []result.Worker {
		var out []result.Worker
		for i, now := range p.fleet.Readings() {
			w := p.list[i].Figures(now.Name, measure.Load{Wall: elapsed})
			w.Lost, w.Health.AchievedInFlight, w.Health.CPUCores = now.Lost, float64(now.InFlight), now.CPUCores(&p.from[i])
			out = append(out, w)
		}
		return out
	}
}

// judge adds what each worker did to a level, and replaces the readings of this process, which makes no load, by those of the workers
// together. It returns the reasons why workers limited the level.
func (p *parts) judge(lv *result.Level, l *measure.Load) (reasons []result.Reason) {
	if p.list == nil {
		return nil
	}
	l.CPU, l.Busy, l.GCPause, l.SchedDelay, l.Stalled, l.Standstill, l.MaxProcs = 0, 0, 0, 0, 0, 0, 0
	own := measure.Load{Wall: l.Wall, Held: l.Held, Options: l.Options}
	for i, to := range p.fleet.Readings() {
		w, why := p.worker(i, &to, own)
		for _, r := range why {
			r.What = fmt.Sprintf("worker %s: %s", to.Name, r.What)
			reasons = append(reasons, r)
		}
		lv.Workers = append(lv.Workers, w)
		cpu, busy := p.usage(i, &to, l.Wall)
		l.CPU += cpu
		l.MaxProcs += to.MaxProcs
		l.Busy = max(l.Busy, busy)
		l.GCPause, l.SchedDelay = max(l.GCPause, to.GCPause), max(l.SchedDelay, to.SchedDelay)
	}
	return reasons
}

// usage is the CPU time that worker i used in the phase, and the share of its machine that was in use. Readings come at intervals: their
// time is longer than the phase, which has its share of the CPU time.
func (p *parts) usage(i int, to *profile.Reading, wall time.Duration) (cpu time.Duration, busy float64) {
	from := &p.from[i]
	u := to.Vitals.Since(from.Vitals)
	return time.Duration(float64(u.CPU) * min(1, float64(wall)/float64(max(1, to.At-from.At)))), u.Busy
}

// worker is what worker i did, and why it limited the level. The rate and the number in flight are judged for all workers together.
func (p *parts) worker(i int, to *profile.Reading, l measure.Load) (result.Worker, []result.Reason) {
	l.CPU, l.Busy = p.usage(i, to, l.Wall)
	l.MaxProcs = to.MaxProcs
	l.GCPause, l.SchedDelay, l.Standstill, l.Stalled = to.GCPause, to.SchedDelay, to.Standstill, to.Stalled-p.from[i].Stalled
	l.SendRate = float64(p.list[i].Sent()) / max(time.Nanosecond, l.Wall).Seconds()
	w, why := p.list[i].Worker(to.Name, l)
	if w.Lost = to.Lost; w.Lost != "" {
		why = []result.Reason{{What: "was lost: " + w.Lost + "; its share of the load was not sent", Try: "look at the worker and its machine, then run again"}}
	}
	return w, why
}
