package profile

import (
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// Workers are the workers of a fleet by their numbers.
type Workers interface {
	// Worker is the number of the worker that a slot belongs to.
	Worker(slot uint32) int
	// Readings are what the workers have counted until now, in the order of their numbers.
	Readings() []Reading
}

// Parts are what each worker of a fleet did in a stretch of time; the zero value is a load without a fleet.
type Parts struct {
	workers Workers
	list    []*measure.Part
	from    []Reading
}

// Begin starts the parts at a time. It does nothing without workers.
func (p *Parts) Begin(w Workers, setup measure.Setup, from int64) {
	if *p = (Parts{workers: w}); w == nil {
		return
	}
	p.from = w.Readings()
	for range p.from {
		p.list = append(p.list, measure.NewPart(setup, from))
	}
}

// Add takes a record into the part of its worker.
func (p *Parts) Add(rec *record.Record) {
	if p.list != nil {
		p.list[p.workers.Worker(rec.Slot)].Add(rec)
	}
}

// Look makes what each worker has done in a stretch of time that has lasted for elapsed; it is nil without a fleet.
func (p *Parts) Look(elapsed time.Duration) func() []result.Worker {
	if p.list == nil {
		return nil
	}
	return func() []result.Worker {
		var out []result.Worker
		for i, now := range p.workers.Readings() {
			w := p.list[i].Figures(now.Name, measure.Load{Wall: elapsed})
			w.Lost, w.Health.AchievedInFlight, w.Health.CPUCores = now.Lost, float64(now.InFlight), now.CPUCores(&p.from[i])
			out = append(out, w)
		}
		return out
	}
}

// Judge adds what each worker did to a level, and replaces the readings of this process, which makes no load, by those of the workers
// together. It returns the reasons why workers limited the level.
func (p *Parts) Judge(lv *result.Level, l *measure.Load) (reasons []result.Reason) {
	if p.list == nil {
		return nil
	}
	l.CPU, l.Busy, l.GCPause, l.SchedDelay, l.Stalled, l.Standstill, l.MaxProcs = 0, 0, 0, 0, 0, 0, 0
	own := measure.Load{Wall: l.Wall, Held: l.Held, Options: l.Options}
	for i, to := range p.workers.Readings() {
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

// usage is the CPU time that worker i used, and the share of its machine that was in use. Readings come at intervals: their time is longer
// than that of the parts, which have their share of the CPU time.
func (p *Parts) usage(i int, to *Reading, wall time.Duration) (cpu time.Duration, busy float64) {
	from := &p.from[i]
	u := to.Vitals.Since(from.Vitals)
	return time.Duration(float64(u.CPU) * min(1, float64(wall)/float64(max(1, to.At-from.At)))), u.Busy
}

// worker is what worker i did, and why it limited the level. The rate and the number in flight are judged for all workers together.
func (p *Parts) worker(i int, to *Reading, l measure.Load) (result.Worker, []result.Reason) {
	l.CPU, l.Busy = p.usage(i, to, l.Wall)
	l.MaxProcs = to.MaxProcs
	l.GCPause, l.SchedDelay, l.Standstill, l.Stalled = to.GCPause, to.SchedDelay, to.Standstill, to.Stalled-p.from[i].Stalled
	l.SendRate = float64(p.list[i].Sent()) / max(time.Nanosecond, l.Wall).Seconds()
	w, why := p.list[i].Worker(to.Name, l)
	if w.Lost = to.Lost; w.Lost != "" {
		why = []result.Reason{lost(w.Lost)}
	}
	return w, why
}

// lost is the reason why a worker that is lost limited a level.
func lost(why string) result.Reason {
	return result.Reason{What: "was lost: " + why + "; its share of the load was not sent", Try: "look at the worker and its machine, then run again"}
}
