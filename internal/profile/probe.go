package profile

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// Prober runs one load after another on one engine, and shows each load while it runs, for a search that decides by what it
// sees. Run, in contrast, visits the levels of a plan and judges them when they are over.
type Prober struct {
	r    *Runner
	plan *plan.Plan
	runs uint64
}

// OpenProber opens the engine of a runner. Close must be called. hard cuts what is in flight.
func OpenProber(hard context.Context, r *Runner) (*Prober, error) {
	r.hard = hard
	if err := r.open(hard); err != nil {
		return nil, err
	}
	return &Prober{r: r, plan: r.Plan}, nil
}

// Close ends the connections.
func (p *Prober) Close() error { return p.r.close() }

// Run sends the load of a level and calls watch for each look, until watch returns false or ctx ends. It returns when no
// request is in flight; those that take longer than drain are canceled. Each run draws its own arrivals.
func (p *Prober) Run(ctx context.Context, lv result.Level, drain time.Duration, first measure.Look, watch measure.Watch) error {
	p.runs++
	runs := p.runs
	p.r.Plan = p.plan.With(func(pl *plan.Plan) { pl.Load.Seed += runs })
	m := &probe{levelRun: levelRun{Runner: p.r, lv: &lv}, head: &lv, horizon: math.MaxInt64}
	m.failed = p.r.eng.Failures()
	p.r.eng.Sync(func() { p.r.collect = m.add })
	m.began = clock.Now()
	m.reset(m.began)
	err := m.start(ctx, &lv, 0)
	if err == nil {
		err = m.look(ctx, first, watch)
	}
	p.r.eng.Stop()
	m.lookUntil(math.MaxInt64)
	if ctx.Err() != nil {
		drain = min(drain, DrainTime)
	}
	p.drain(drain)
	p.r.eng.Sync(func() {
		p.r.collect = nil
		err = errors.Join(err, m.tapErr)
	})
	p.r.eng.ClearFailures()
	if p.r.Fleet != nil && err == nil {
		err = p.r.Fleet.Ended(nil, nil)
	}
	return err
}

// drain lets the requests in flight end, and cancels those that take longer. They are in no figure.
func (p *Prober) drain(limit time.Duration) { p.r.waitFor(p.r.hard, limit) }

// probe is one load of a Prober.
type probe struct {
	levelRun
	head   *result.Level // the load, for Tap
	tapErr error
	began  int64
	rec    *measure.Recorder
	ended  int
	broken int
	// Records that ended after the next look wait in later: those of a fleet come a moment after their time. The horizon is the time
	// of that look; in this process it has no end.
	horizon int64
	later   []record.Record
	seen    struct {
		at    int64
		ended int
	}
}

// reset begins the measured time anew, now. On a fleet it begins at the given time, which is that of the horizon.
func (m *probe) reset(at int64) {
	m.eng.Sync(func() {
		state, from := ReadState(m.eng), at
		if m.Fleet == nil {
			from = state.At
		}
		c := m.config(true)
		c.Intervals = true
		m.rec = measure.New(c)
		m.rec.Begin(from, &state)
	})
}

// add takes a record in. It belongs to the time in which the request ended.
func (m *probe) add(r *record.Record, _ []record.Event, _ []byte) {
	if r.Flags&record.Closing != 0 || r.Class == record.Canceled {
		return
	}
	if r.End > m.horizon {
		m.later = append(m.later, *r)
		return
	}
	if m.Tap != nil && m.tapErr == nil {
		m.tapErr = m.Tap(m.head, 0, r)
	}
	m.ended++
	if r.Class != record.OK {
		m.broken++
	}
	if r.End >= m.rec.From() {
		m.rec.Add(r)
	}
}

// lookUntil moves the horizon of a fleet to the time of the next look.
func (m *probe) lookUntil(at int64) {
	if m.Fleet == nil {
		return
	}
	m.eng.Sync(func() {
		m.horizon = at
		waiting := m.later
		m.later = nil
		for i := range waiting {
			m.add(&waiting[i], nil, nil)
		}
	})
}

// look waits for each look.
func (m *probe) look(ctx context.Context, next measure.Look, watch measure.Watch) error {
	settle := m.began + int64(next.Settle)
	settled := next.Settle == 0
	for {
		at := m.began + int64(next.At)
		if !settled && at > settle {
			m.lookUntil(settle)
			if m.await(ctx, settle) {
				m.reset(settle)
				settled = true
			}
		}
		m.lookUntil(at)
		answers := m.await(ctx, at)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		now := clock.Now()
		if m.Fleet != nil {
			now = min(now, at)
		}
		s := m.sight(now, answers)
		var more bool
		if next, more = watch(s); !more {
			return nil
		}
		if !answers {
			return errors.New(s.Down)
		}
		if next.Anew {
			m.reset(now)
		}
	}
}

// await waits until a time; false means that failures ended the load before.
func (m *probe) await(ctx context.Context, until int64) bool {
	select {
	case <-time.After(time.Duration(until - clock.Now())):
	case <-ctx.Done():
	case <-m.eng.Failed():
		_ = m.afterFailure(ctx)
		return false
	}
	return true
}

// sight is what can be seen of the load at a time.
func (m *probe) sight(now int64, answers bool) measure.Sight {
	s := measure.Sight{Elapsed: time.Duration(now - m.began), Backlog: m.eng.InFlight()}
	m.eng.Sync(func() {
		s.Requests, s.Failures = m.ended-m.broken, m.broken
		s.Median = m.rec.Median()
		if took := now - m.seen.at; m.seen.at > 0 && took > 0 {
			s.Rate = float64(m.ended-m.seen.ended) / time.Duration(took).Seconds()
		}
		m.seen.at, m.seen.ended = now, m.ended
	})
	if !answers {
		s.Down = m.loadError().Error()
	}
	s.Level = func(confidence float64) (*result.Level, []result.Reason) { return m.level(now, confidence) }
	return s
}

// level computes the figures of the measured time.
func (m *probe) level(now int64, confidence float64) (*result.Level, []result.Reason) {
	lv := *m.lv
	lv.Accepted, lv.Stable = true, true
	state := ReadState(m.eng)
	var flights []engine.Flight
	m.eng.Sync(func() { flights = m.eng.Flights() })
	m.eng.Sync(func() {
		a := m.asked()
		a.Confidence = confidence
		lv, m.reasons = m.rec.Until(now, &state, InFlightAt(now, flights, m.later)).Level(lv, a)
	})
	if m.Floor != nil {
		m.Floor(&lv)
	}
	lv.Failures = m.newFailures()
	return &lv, m.reasons
}

// InFlightAt are the requests that were in flight at a time: flights were in flight after it, and those that have ended since are in
// later.
func InFlightAt(now int64, flights []engine.Flight, later []record.Record) []measure.Pending {
	type request struct {
		slot int
		due  int64
	}
	var out []measure.Pending
	ended := map[request]bool{}
	for i := range later {
		r := &later[i]
		ended[request{int(r.Slot), r.Due}] = true
		if r.Sent < now {
			out = append(out, measure.Pending{Slot: r.Slot, Due: r.Due, Sent: r.Sent})
		}
	}
	for _, f := range flights {
		if f.Sent < now && !ended[request{f.Slot, f.Due}] {
			out = append(out, measure.Pending{Slot: uint32(f.Slot), Due: f.Due, Sent: f.Sent})
		}
	}
	return out
}
