package profile

import (
	"context"
	"errors"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
)

// Prober runs one load after another on one engine, and shows each load while it runs, for a search that decides by what it
// sees. Run, in contrast, visits the levels of a plan and judges them when they are over.
type Prober struct {
	r    *Runner
	runs uint64
}

// OpenProber opens the engine of a runner. Close must be called. hard cuts what is in flight.
func OpenProber(hard context.Context, r *Runner) (*Prober, error) {
	r.hard = hard
	if err := r.open(hard, hard); err != nil {
		return nil, err
	}
	return &Prober{r: r}, nil
}

// Close ends the connections.
func (p *Prober) Close() error { return p.r.close() }

// Run sends the load of a level and calls watch for each look, until watch returns false or ctx ends. It returns when no
// request is in flight; those that take longer than drain are canceled. Each run draws its own arrivals.
func (p *Prober) Run(ctx context.Context, lv result.Level, drain time.Duration, first measure.Look, watch measure.Watch) error {
	p.runs++
	m := &probe{levelRun: levelRun{Runner: p.r, lv: &lv}, head: &lv}
	m.began = clock.Now()
	m.inbox = run.NewInbox(m.began, m.add)
	p.r.eng.Sync(run.Vitals, func(s *run.State) {
		m.failed = s.Failures
		if m.clear {
			m.failed = nil
		}
		m.measureFrom(m.began, s)
		p.r.collect = m.inbox.Take
	})
	err := m.start(ctx, run.Order{Level: &lv, Seed: p.r.Plan.Load.Seed + p.runs})
	if err == nil {
		err = m.look(ctx, first, watch)
	}
	p.r.eng.Stop()
	m.lookUntil(run.HoldNone)
	if ctx.Err() != nil {
		drain = min(drain, run.DrainTime)
	}
	p.r.drain(drain) // what ends now is in no figure
	p.r.ignore()
	err = errors.Join(err, m.tapErr)
	p.r.clear = true
	if p.r.Ended != nil && err == nil {
		err = p.r.Ended(ctx, nil, nil)
	}
	return err
}

// probe is one load of a Prober.
type probe struct {
	levelRun
	head   *result.Level // the load, for Tap
	tapErr error
	began  int64
	rec    *measure.Recorder
	ended  int
	broken int
	seen   struct {
		at    int64
		ended int
	}
}

// measureFrom begins the measured time anew.
func (m *probe) measureFrom(at int64, s *run.State) {
	c := m.config(true)
	c.Intervals = true
	m.rec = measure.New(c)
	m.rec.Begin(at, &s.State)
}

// reset begins the measured time anew at the time of the last look.
func (m *probe) reset(at int64) {
	m.eng.Sync(run.Exact, func(s *run.State) { m.measureFrom(at, s) })
}

// add takes a record in. It belongs to the time in which the request ended.
func (m *probe) add(r *record.Record, _ []record.Event, _ []byte) {
	if r.Flags&record.Closing != 0 || r.Class == record.Canceled {
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

// lookUntil counts what ends until the time of the next look.
func (m *probe) lookUntil(at int64) {
	m.eng.Sync(run.Glance, func(*run.State) { m.inbox.Until(at) })
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
		now := min(clock.Now(), at)
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
	v := measure.Sight{Elapsed: time.Duration(now - m.began)}
	m.eng.Sync(run.Exact, func(s *run.State) {
		v.Requests, v.Failures, v.Backlog = m.ended-m.broken, m.broken, s.InFlight
		v.Median = m.rec.Median()
		if took := now - m.seen.at; m.seen.at > 0 && took > 0 {
			v.Rate = float64(m.ended-m.seen.ended) / time.Duration(took).Seconds()
		}
		m.seen.at, m.seen.ended = now, m.ended
	})
	if !answers {
		v.Down = m.loadError().Error()
	}
	v.Level = func(confidence float64) (*result.Level, []result.Reason) { return m.level(now, confidence) }
	return v
}

// level computes the figures of the measured time.
func (m *probe) level(now int64, confidence float64) (*result.Level, []result.Reason) {
	lv := *m.lv
	lv.Accepted, lv.Stable = true, true
	m.eng.Sync(run.Flights, func(s *run.State) {
		a := m.judgment(s.Scheduled)
		a.Confidence = confidence
		lv, m.reasons = m.rec.Until(now, &s.State, m.inbox.InFlight(now, s.Flights)).Level(lv, a)
		lv.Failures = m.newFailures(s.Failures)
	})
	if m.Floor != nil {
		m.Floor(&lv)
	}
	return &lv, m.reasons
}
