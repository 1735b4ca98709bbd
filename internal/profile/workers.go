package profile

import (
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/vitals"
)

// Reading is what a worker of a fleet has counted until now.
type Reading struct {
	Name     string
	At       int64 // the time of the reading
	MaxProcs int
	// Lost is why the worker is no longer part of the run; empty while it is.
	Lost    string
	Dropped uint64
	Stalled time.Duration
	Vitals  vitals.Reading
	// The longest pause of the garbage collector, wait for a processor and standstill since the load began.
	GCPause, SchedDelay, Standstill time.Duration
	Connections                     int
	Busiest                         time.Duration // how long the busiest connection has worked
	InFlight                        int
}

// newParts are the parts of a window that begins at from, one a worker; nil without a fleet.
func (r *Runner) newParts(from int64) []*measure.Part {
	if r.Fleet == nil {
		return nil
	}
	parts := make([]*measure.Part, len(r.Fleet.Readings()))
	for i := range parts {
		parts[i] = measure.NewPart(r.setup(), from)
	}
	return parts
}

// copyParts copies the parts of a window that goes on.
func (r *Runner) copyParts(parts []*measure.Part) []*measure.Part {
	if len(parts) == 0 {
		return nil
	}
	out := r.newParts(parts[0].From())
	for i := range out {
		out[i].Merge(parts[i])
	}
	return out
}

// part takes a record into the part of its worker.
func (r *Runner) part(p *pass, rec *record.Record) {
	if p.parts != nil {
		p.parts[r.Fleet.Worker(rec.Slot)].Add(rec)
	}
}

// partPending tells the part of a worker that a request is in flight at the end of the window.
func (r *Runner) partPending(p *pass, slot uint32, sent int64) {
	if p.parts != nil {
		p.parts[r.Fleet.Worker(slot)].Pending(sent, p.until)
	}
}

// countSends replaces the number of sends since the window began, which workers tell a moment later, by the exact one.
func (r *Runner) countSends(p *pass) {
	if p.parts == nil {
		return
	}
	p.sent, p.sentAt, p.sentUntil = 0, p.from, p.until
	for _, part := range p.parts {
		p.sent += part.Sent()
	}
}

// keepParts adds the parts of a window that is over to those of the level, for looks at a level in progress.
func (m *levelRun) keepParts(p *pass) {
	if p.parts == nil || m.timeline == nil {
		return
	}
	if m.parts == nil {
		m.parts = m.newParts(p.from)
	}
	for i, part := range m.parts {
		part.Merge(p.parts[i])
	}
}

// liveWorkers is what each worker has done in the level until now: the rate is that of the window in progress, which has lasted for elapsed.
func (m *levelRun) liveWorkers(p *pass, elapsed time.Duration) []result.Worker {
	var out []result.Worker
	for i, now := range m.Fleet.Readings() {
		total := measure.NewPart(m.setup(), p.from)
		if m.parts != nil {
			total.Merge(m.parts[i])
		}
		total.Merge(p.parts[i])
		w := total.Figures(now.Name, measure.Load{Wall: elapsed})
		w.InferPerSec = p.parts[i].Figures(now.Name, measure.Load{Wall: elapsed}).InferPerSec
		w.Lost, w.Health.AchievedInFlight, w.Health.CPUCores = now.Lost, float64(now.InFlight), now.CPUCores(&p.readings[i])
		out = append(out, w)
	}
	return out
}

// CPUCores is how many cores the worker used since an earlier reading.
func (r *Reading) CPUCores(from *Reading) float64 {
	return float64(r.Vitals.Since(from.Vitals).CPU) / float64(max(1, r.At-from.At))
}

// judgeWorkers adds what each worker did, and replaces the readings of this process, which makes no load, by those of the workers
// together. It returns the reasons why workers limited the level.
func (m *levelRun) judgeWorkers(used []*pass, duration time.Duration) []result.Reason {
	first, last := used[0].readings, used[len(used)-1].readingsTo
	whole := m.load
	m.load.Usage, m.load.Standstill, m.load.Stalled, m.load.MaxProcs = vitals.Usage{}, 0, 0, 0
	m.load.Connections, m.load.ConnectionBusy = 0, 0
	var reasons []result.Reason
	m.lv.Workers = nil
	for i := range last {
		from, to := &first[i], &last[i]
		usage := to.Vitals.Since(from.Vitals)
		l := whole
		l.Wall, l.Usage, l.MaxProcs = duration, usage, to.MaxProcs
		l.GCPause, l.SchedDelay, l.Standstill, l.Stalled = to.GCPause, to.SchedDelay, to.Standstill, to.Stalled-from.Stalled
		l.Connections, l.ConnectionBusy, l.Dropped = to.Connections, to.Busiest-from.Busiest, to.Dropped
		total := measure.NewPart(m.setup(), used[0].from)
		for _, p := range used {
			total.Merge(p.parts[i])
		}
		m.shareOf(&l, total, i, len(last))
		reasons = append(reasons, addWorker(m.lv, &m.load, total, to, l)...)
	}
	return reasons
}

// addWorker adds to a level what a worker did, and to the readings of all workers those of its load l. It returns the reasons why the
// worker limited the level.
func addWorker(lv *result.Level, all *measure.Load, part *measure.Part, to *Reading, l measure.Load) []result.Reason {
	w, why := part.Worker(to.Name, l)
	if w.Lost = to.Lost; w.Lost != "" {
		why = []result.Reason{{What: "was lost: " + w.Lost + "; its share of the load was not sent", Try: "look at the worker and its machine, then run again"}}
	}
	for i := range why {
		why[i].What = fmt.Sprintf("worker %s: %s", to.Name, why[i].What)
	}
	lv.Workers = append(lv.Workers, w)
	all.CPU += l.CPU
	all.MaxProcs += l.MaxProcs
	all.Busy, all.Steal = max(all.Busy, l.Busy), max(all.Steal, l.Steal)
	all.GCPause, all.SchedDelay = max(all.GCPause, l.GCPause), max(all.SchedDelay, l.SchedDelay)
	all.Connections += l.Connections
	all.ConnectionBusy = max(all.ConnectionBusy, l.ConnectionBusy)
	return why
}

// shareOf sets the load that worker i of n was asked for, and what it sent of it.
func (m *levelRun) shareOf(l *measure.Load, total *measure.Part, i, n int) {
	part := segment.Segment{Index: i, Of: n}
	share := m.dealOf(m.lv, part).Rate(1)
	l.Concurrency, l.Rate, l.Due = part.Share(l.Concurrency), l.Rate*share, l.Due*share
	if m.finite() { // the whole is judged by its last request; a worker's part has no such time
		l.Concurrency, l.Rate, l.Due, l.SendRate = 0, 0, 0, 0
		return
	}
	l.SendRate = float64(total.Sent()) / max(1e-9, l.Wall.Seconds())
}
