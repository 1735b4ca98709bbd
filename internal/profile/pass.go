package profile

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/scrape"
	"github.com/redline-bench/redline/internal/service"
)

// tick is how often the end of a window is looked for and progress is told.
const tick = 50 * time.Millisecond

// pass is one window while it is measured.
type pass struct {
	rec          *measure.Recorder
	until        int64 // when it is to end, then when it ended
	serverFrom   []service.ModelStats
	serverTo     []service.ModelStats
	statsMissing bool
	serverAtEnd  chan serverReading // the counters at the end, read in time; nil if they are read when the window is closed
	failed       bool               // failed requests ended it
	err          error              // of the export or of Tap
	metrics      scrape.Window
	rest         rest
}

// begin sets the load and opens the first window. Where the load is finite the window opens before the first
// request; otherwise when the load is already running, so that its start does not count.
func (m *levelRun) begin(ctx context.Context) (*pass, error) {
	count := m.Plan.Measure.RequestCount
	p := &pass{rec: measure.New(m.config(m.Timeline))}
	if m.lv.Mode == plan.RequestRate || m.lv.Mode == plan.Concurrency {
		m.Observer.LevelBegins(m.lv, false)
	}
	if m.finite() {
		if err := m.open(ctx, p); err != nil {
			return nil, err
		}
	}
	if err := m.start(ctx, run.Order{Level: m.lv, Limit: count}); err != nil {
		return nil, err
	}
	if !m.finite() {
		if err := m.open(ctx, p); err != nil {
			return nil, m.blame(ctx, err)
		}
	}
	return p, nil
}

// open takes the first readings of a level.
func (m *levelRun) open(ctx context.Context, p *pass) error {
	if err := m.startMetrics(ctx); err != nil {
		return err
	}
	m.eng.Sync(run.Exact, func(*run.State) { m.collect = nil })
	stats, err := m.stats(ctx)
	if err != nil {
		return err
	}
	p.serverFrom, p.statsMissing = stats, stats == nil
	m.eng.Sync(run.Vitals, func(s *run.State) {
		if m.failed = s.Failures; m.clear { // those of the warm-up are none of this level's
			m.failed = nil
		}
		p.rec.Begin(s.At, &s.State)
		m.inbox = run.NewInbox(run.HoldAll, m.count)
		m.collect = m.inbox.Take
	})
	return nil
}

// follow opens the window after p: it shares p's end.
func (m *levelRun) follow(p *pass) *pass {
	return &pass{rec: p.rec.Next(), serverFrom: p.serverTo, statsMissing: p.statsMissing}
}

// pass measures one window.
func (m *levelRun) pass(ctx context.Context, p *pass, n, trials int) error {
	p.until = math.MaxInt64
	if m.Plan.Measure.Window == plan.TimeWindows && !m.finite() {
		p.until = p.rec.From() + int64(m.Plan.Measure.Interval)
	}
	m.readServerInTime(ctx, p)
	err := m.await(ctx, p, n, trials)
	p.failed = errors.As(err, new(*LoadError))
	m.close(p)
	err = errors.Join(err, p.err)
	if serr := m.closeServer(ctx, p, err); serr != nil {
		err = errors.Join(err, m.blame(ctx, serr))
	}
	return err
}

// blame says why the server's statistics could not be read: where the load fails too, with the load's own failures.
func (m *levelRun) blame(ctx context.Context, err error) error {
	select {
	case <-m.eng.Failed():
		return m.afterFailure(ctx)
	case <-time.After(failureGrace):
	case <-ctx.Done():
	}
	return err
}

// await waits until the window is over.
func (m *levelRun) await(ctx context.Context, p *pass, n, trials int) error {
	idle, stopWaiting := m.idleSignal(ctx)
	defer stopWaiting()
	m.eng.Sync(run.Glance, func(*run.State) {
		m.window = p
		p.rest.begin(m.Exporter != nil, idle)
		m.inbox.Until(p.until)
	})
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var over, failed bool
		m.eng.Sync(run.Glance, func(s *run.State) {
			over, failed = p.err != nil || m.over(p), m.tooManyFailed(p)
			if !over {
				m.Observer.Progress(m.progress(p, s, n, trials))
			}
		})
		switch {
		case over:
			return nil
		case failed:
			return m.loadError()
		}
		timer.Reset(min(tick, max(0, time.Duration(p.until-clock.Now()))))
		select {
		case <-ctx.Done():
			return run.ErrInterrupted
		case <-m.eng.Failed():
			return m.afterFailure(ctx)
		case <-idle:
			select {
			case <-m.eng.Failed(): // a failure ended the load: select may take either first
				return m.afterFailure(ctx)
			default:
				return nil
			}
		case <-timer.C:
		}
	}
}

// failureGrace is how long the other slots may go on after a failure called for the end, so that the report can
// tell one broken request from a broken server.
const failureGrace = time.Second

// afterFailure lets the other slots run into their own failures.
func (m *levelRun) afterFailure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, failureGrace)
	defer cancel()
	_ = m.eng.Wait(ctx) // what goes on is stopped
	m.eng.Stop()
	return m.loadError()
}

// over tells whether the window is complete.
func (m *levelRun) over(p *pass) bool {
	rules := &m.Plan.Measure
	if m.finite() {
		return false // the idle signal ends it
	}
	if rules.Window == plan.CountWindows {
		return m.lv.Idle || p.rec.Requests() >= uint64(m.minRequests())
	}
	return clock.Now() >= p.until
}

// tooManyFailed applies --max-error-rate to all windows of the level, once there is enough to judge by.
func (m *levelRun) tooManyFailed(p *pass) bool {
	limit := m.Plan.Measure.MaxErrorRate
	if limit <= 0 {
		return false
	}
	const enough = 100
	failed, ended := p.rec.Failed(), p.rec.Ended()
	for _, before := range m.passes {
		failed += before.rec.Failed()
		ended += before.rec.Ended()
	}
	return ended >= enough && float64(failed) > limit*float64(ended)
}

// idleSignal is closed when a load with a limit has ended; a load without one never signals. stop ends the
// waiting.
func (m *levelRun) idleSignal(ctx context.Context) (idle <-chan struct{}, stop func()) {
	if !m.finite() {
		return nil, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		if m.eng.Wait(ctx) == nil {
			close(done)
		}
	}()
	return done, func() {
		cancel()
		<-ended
	}
}

// close fixes the window's end: the asked one, or the last end of a window that goes by count. Then it tells the window which requests
// were in flight at its end.
func (m *levelRun) close(p *pass) {
	m.eng.Sync(run.Exact, func(*run.State) {
		m.fixEnd(p)
		m.inbox.Until(p.until)
	})
	m.eng.Sync(run.Flights, func(s *run.State) {
		p.rec.End(p.until, &s.State, m.inbox.InFlight(p.until, s.Flights))
		m.inbox.Until(run.HoldAll)
	})
}

func (m *levelRun) fixEnd(p *pass) {
	now := clock.Now()
	_, last := p.rec.Span()
	switch {
	case p.until > now && last > p.rec.From():
		p.until = last
	case p.until > now:
		p.until = now
	}
}

// count takes a request that has ended into the window.
func (m *levelRun) count(r *record.Record, events []record.Event, data []byte) {
	p := m.window
	if r.End < p.rec.From() && len(m.passes) == 0 && !m.finite() {
		return // it ended before the first window; its record came a moment later
	}
	p.rest.take()
	p.rec.Add(r)
	if m.Tap != nil && p.err == nil {
		p.err = m.Tap(m.lv, len(m.passes), r)
	}
	if m.Exporter != nil && p.err == nil && r.Class == record.OK && r.Flags&record.Closing == 0 {
		p.err = m.Exporter.Request(r, events, data)
	}
}

// keep turns the pass into a window of the result and tells the observer.
func (m *levelRun) keep(p *pass, n int) {
	w := p.rec.Result(m.judgment(run.Read(m.eng, run.Glance).Scheduled))
	if w.Client.Requests == 0 && !m.lv.Idle {
		w.Error = ErrNoRequests.Error()
	}
	if p.failed && m.Plan.Measure.Window == plan.CountWindows {
		w.Error = result.RequestsFailed // the failure may be older than the window
	}
	w.Server = m.serverWindow(p)
	m.takeMetrics(p)
	m.passes = append(m.passes, p)
	m.lv.Windows = append(m.lv.Windows, w)
	m.forgetOld()
	m.Observer.Pass(n, &w)
}

// forgetOld drops the latencies and metrics of windows that cannot count any more, those before the last three with
// answers, so that memory does not grow with the number of windows.
func (m *levelRun) forgetOld() {
	answered := 0
	for i, p := range slices.Backward(m.passes) {
		if answered == measure.StableWindows {
			p.rec.Forget()
			p.metrics = scrape.Window{}
		} else if m.lv.Windows[i].Client.Requests > 0 {
			answered++
		}
	}
}

func (m *levelRun) progress(p *pass, s *run.State, n, trials int) Progress {
	elapsed := time.Duration(clock.Now() - p.rec.From())
	g := Progress{
		Level: m.lv, Number: len(m.res.Levels) + 1, Levels: levelCount(&m.Plan.Load), Pass: n, Passes: trials, Elapsed: elapsed, Requests: p.rec.Requests(), Failed: p.rec.Failed(),
		Median: p.rec.Median(), InFlight: s.InFlight,
	}
	if p.rec.Timed() {
		g.Live = func() *result.Level { return m.live(p, s, g) }
	}
	g.Workers = p.rec.Look(elapsed, s.Workers)
	if elapsed > 0 {
		g.Rate = float64(g.Requests) / elapsed.Seconds() * float64(max(1, m.Plan.Input.Batch))
	}
	switch rules := &m.Plan.Measure; {
	case rules.RequestCount > 0:
		g.Wanted = uint64(m.wanted)
	case m.finite():
	case rules.Window == plan.CountWindows:
		g.Wanted = uint64(m.minRequests())
	default:
		g.Window = rules.Interval
	}
	g.Left = timeLeft(&g, m.res.Levels)
	return g
}

// live is the level as it stands in the middle of a window.
func (m *levelRun) live(p *pass, s *run.State, g Progress) *result.Level {
	lv := *m.lv
	lv.Health.AchievedInFlight, lv.Health.AskedInFlight, lv.Health.AskedRate = float64(g.InFlight), float64(m.load.Concurrency), m.load.Rate
	return p.rec.Live(lv, clock.Now(), g.Rate, s.Workers)
}

// untilIdle waits for the end of a warm-up.
func (m *levelRun) untilIdle(ctx context.Context) error {
	if m.eng.Wait(ctx) != nil {
		return run.ErrInterrupted
	}
	select {
	case <-m.eng.Failed():
		return m.loadError()
	default:
		return nil
	}
}

// minRequests is how many requests of this process a window by count has.
func (m *levelRun) minRequests() int { return max(1, m.deal(m.lv).Count(m.Plan.Measure.MinRequests)) }
