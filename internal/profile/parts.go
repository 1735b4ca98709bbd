package profile

import (
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/vitals"
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
	l.Usage, l.Stalled, l.Standstill, l.MaxProcs = vitals.Usage{}, 0, 0, 0
	l.Connections, l.ConnectionBusy = 0, 0
	own := measure.Load{Wall: l.Wall, Held: l.Held, Options: l.Options}
	for i, to := range p.workers.Readings() {
		reasons = append(reasons, addWorker(lv, l, p.list[i], &to, p.load(i, &to, own))...)
	}
	return reasons
}

// load is the load of worker i. The rate and the number in flight are judged for all workers together. Readings come at intervals: their
// time is longer than that of the parts, which have their share of the CPU time.
func (p *Parts) load(i int, to *Reading, l measure.Load) measure.Load {
	from := &p.from[i]
	l.Usage, l.MaxProcs = to.Vitals.Since(from.Vitals), to.MaxProcs
	share := min(1, float64(l.Wall)/float64(max(1, to.At-from.At)))
	l.CPU, l.Machine = time.Duration(float64(l.CPU)*share), time.Duration(float64(l.Machine)*share)
	l.GCPause, l.SchedDelay, l.Standstill, l.Stalled = to.GCPause, to.SchedDelay, to.Standstill, to.Stalled-from.Stalled
	l.Connections, l.ConnectionBusy, l.Dropped = to.Connections, to.Busiest-from.Busiest, to.Dropped-from.Dropped
	l.SendRate = float64(p.list[i].Sent()) / max(time.Nanosecond, l.Wall).Seconds()
	return l
}
