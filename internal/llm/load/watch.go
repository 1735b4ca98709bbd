package load

import (
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
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
func (r *levelRun) watched(p *phase, now int64) bool {
	w := &r.watch
	if r.cfg.Watch == nil || p.warm {
		return false
	}
	elapsed := time.Duration(now - p.start)
	if !w.settled && elapsed >= w.next.Settle {
		w.settled = true
		r.measureFrom(p, now)
	}
	s := measure.Sight{Elapsed: elapsed}
	due := false
	r.eng.Sync(run.Glance, func(state *run.State) {
		s.Down, s.Backlog = r.stop.text, state.InFlight
		if due = elapsed >= w.next.At || s.Down != ""; !due {
			return
		}
		s.Requests, s.Failures, s.Median = w.ended-w.failed, w.failed, r.rec.Median()
		if took := elapsed - w.seen.at; took > 0 {
			s.Rate = float64(w.ended-w.seen.ended) / took.Seconds()
		}
		w.seen.at, w.seen.ended = elapsed, w.ended
	})
	if !due {
		return false
	}
	s.Level = func(float64) (lv *result.Level, reasons []result.Reason) {
		r.look(func(now int64, state *run.State) {
			p.after, p.ended = state.State, now
			out := r.outcome(r.inbox.InFlight(now, state.Flights))
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
func (r *levelRun) measureFrom(p *phase, now int64) {
	r.eng.Sync(run.Vitals, func(s *run.State) {
		p.from = s.State
		r.begin(p, now)
	})
}
