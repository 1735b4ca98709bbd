package measure

import (
	"fmt"
	"time"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
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

// cores is how many cores the worker used since an earlier reading.
func (r *Reading) cores(from *Reading) float64 {
	return float64(r.Vitals.Since(from.Vitals).CPU) / float64(max(1, r.At-from.At))
}

// workers is what each worker of a fleet did in the measured time; the zero value is a load without a fleet.
type workers struct {
	parts []*Part
	past  []*Part // in the windows before
}

// begin makes the parts of n workers.
func (w *workers) begin(n int, setup Setup, from int64) {
	for range n {
		w.parts = append(w.parts, NewPart(setup, from))
	}
}

// of is the part of the worker that a slot belongs to: the slots of n workers are dealt out in turn.
func (w *workers) of(slot uint32) *Part { return w.parts[int(slot)%len(w.parts)] }

func (w *workers) add(rec *record.Record) {
	if w.parts != nil {
		w.of(rec.Slot).Add(rec)
	}
}

func (w *workers) pending(list []Pending, until int64) {
	if w.parts == nil {
		return
	}
	for _, p := range list {
		w.of(p.Slot).Pending(p.Sent, until)
	}
}

func (w *workers) sent() (n uint64) {
	for _, p := range w.parts {
		n += p.Sent()
	}
	return n
}

func (w *workers) merge(o *workers) { w.parts = mergeParts(w.parts, o.parts) }

// sum is what the workers did until the end of this window.
func (w *workers) sum() []*Part { return mergeParts(mergeParts(nil, w.past), w.parts) }

// mergeParts adds parts to others, of which there may be none yet.
func mergeParts(to, from []*Part) []*Part {
	for i, p := range from {
		if i == len(to) {
			to = append(to, NewPart(p.setup, p.from))
		}
		to[i].Merge(p)
	}
	return to
}

// Look makes what each worker has done in a level whose window has lasted for elapsed, by their readings; it is nil without a fleet. The rate
// is that of the window.
func (r *Recorder) Look(elapsed time.Duration, readings []Reading) func() []result.Worker {
	w := &r.workers
	if w.parts == nil {
		return nil
	}
	return func() []result.Worker {
		var out []result.Worker
		all := w.sum()
		for i, now := range readings {
			one := all[i].Figures(now.Name, Load{Wall: elapsed})
			one.InferPerSec = w.parts[i].Figures(now.Name, Load{Wall: elapsed}).InferPerSec
			one.Lost, one.Health.AchievedInFlight, one.Health.CPUCores = now.Lost, float64(now.InFlight), now.cores(&r.first.Workers[i])
			out = append(out, one)
		}
		return out
	}
}

// judgeWorkers returns what each worker did, and the reasons why workers limited the level. It replaces the readings of this process,
// which makes no load, by those of the workers together.
func (r *Recorder) judgeWorkers(l *Load, a *Asked) (list []result.Worker, reasons []result.Reason) {
	whole := *l
	l.Usage, l.Stalled, l.Standstill, l.MaxProcs = vitals.Usage{}, 0, 0, 0
	l.Connections, l.ConnectionBusy = 0, 0
	for i := range r.last.Workers {
		to := &r.last.Workers[i]
		own := r.workerLoad(i, &whole, a)
		w, why := r.workers.parts[i].Worker(to.Name, own)
		if w.Lost = to.Lost; w.Lost != "" {
			why = []result.Reason{{What: "was lost: " + w.Lost + "; its share of the load was not sent", Try: "look at the worker and its machine, then run again"}}
		}
		for _, one := range why {
			one.What = fmt.Sprintf("worker %s: %s", to.Name, one.What)
			reasons = append(reasons, one)
		}
		list = append(list, w)
		l.CPU += own.CPU
		l.MaxProcs += own.MaxProcs
		l.Busy, l.Steal = max(l.Busy, own.Busy), max(l.Steal, own.Steal)
		l.GCPause, l.SchedDelay = max(l.GCPause, own.GCPause), max(l.SchedDelay, own.SchedDelay)
		l.Connections += own.Connections
		l.ConnectionBusy = max(l.ConnectionBusy, own.ConnectionBusy)
	}
	return list, reasons
}

// workerLoad is the load of worker i. Without Asked.Share, rate and number in flight are judged for all workers together. Readings may come
// at intervals: their time is then longer than that of the parts, which have their share of the CPU time.
func (r *Recorder) workerLoad(i int, whole *Load, a *Asked) Load {
	from, to := &r.first.Workers[i], &r.last.Workers[i]
	l := Load{Wall: r.wall, Held: a.Held, Cap: a.Cap, Serial: a.Serial, Options: a.Options, Usage: to.Vitals.Since(from.Vitals), MaxProcs: to.MaxProcs}
	share := min(1, float64(l.Wall)/float64(max(1, to.At-from.At)))
	l.CPU, l.Machine = time.Duration(float64(l.CPU)*share), time.Duration(float64(l.Machine)*share)
	l.GCPause, l.SchedDelay, l.Standstill, l.Stalled = to.GCPause, to.SchedDelay, to.Standstill, to.Stalled-from.Stalled
	l.Connections, l.ConnectionBusy, l.Dropped = to.Connections, to.Busiest-from.Busiest, to.Dropped-from.Dropped
	if a.Share != nil && !a.Fixed { // a fixed number of requests is judged by the last one, and a worker's part of it has no such time
		concurrency, rate := a.Share(i, len(r.last.Workers))
		l.Concurrency, l.Rate, l.Due = concurrency, whole.Rate*rate, whole.Due*rate
	}
	if !a.Fixed {
		l.SendRate = float64(r.workers.parts[i].Sent()) / max(time.Nanosecond, l.Wall).Seconds()
	}
	return l
}
