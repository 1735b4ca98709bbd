package load

import (
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// watching is how far Config.Watch has looked at the measurement.
type watching struct {
	next    measure.Look
	settled bool
	ended   int // requests since the load began
	failed  int
	seen    struct {
		at    time.Duration
		ended int
	}
}

func (w *watching) reset(first measure.Look) { *w = watching{next: first, settled: first.Settle == 0} }

// count counts a request that has ended.
func (w *watching) count(class record.Class, failed bool) {
	if failed {
		w.failed++
	}
	if failed || class == record.OK {
		w.ended++
	}
}

// watched shows the measurement where a look is due; true means that it ends.
func (r *run) watched(p *phase, now int64) bool {
	w := &r.watch
	if r.cfg.Watch == nil || p.warm {
		return false
	}
	elapsed := time.Duration(now - p.start)
	if !w.settled && elapsed >= w.next.Settle {
		w.settled = true
		r.measureFrom(p, now)
	}
	down := ""
	r.eng.Sync(func() { down = r.stop.text })
	if elapsed < w.next.At && down == "" {
		return false
	}
	s := measure.Sight{Elapsed: elapsed, Backlog: r.eng.InFlight(), Down: down}
	r.eng.Sync(func() {
		s.Requests, s.Failures, s.Median = w.ended-w.failed, w.failed, r.rec.Median()
		if took := elapsed - w.seen.at; took > 0 {
			s.Rate = float64(w.ended-w.seen.ended) / took.Seconds()
		}
		w.seen.at, w.seen.ended = elapsed, w.ended
	})
	s.Level = func(float64) (lv *result.Level, reasons []result.Reason) {
		r.look(func(now int64) {
			p.after, p.ended = profile.ReadState(r.eng), now
			out := r.outcome(profile.InFlightAt(now, r.eng.Flights(), r.hold.records()))
			lv, reasons = &out.Level, out.Reasons
		})
		return lv, reasons
	}
	next, more := r.cfg.Watch(s)
	next.Settle = w.next.Settle
	w.next = next
	if more && next.Anew {
		r.measureFrom(p, clock.Now())
	}
	return !more
}

// measureFrom begins the measured time anew.
func (r *run) measureFrom(p *phase, now int64) {
	p.from = profile.ReadState(r.eng)
	r.eng.Sync(func() { r.begin(p, now) })
}
