package profile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/traceid"
)

// ignore drops the records that come from now on.
func (r *Runner) ignore() { r.eng.Sync(run.Glance, func(*run.State) { r.collect = nil }) }

// visit measures one level, keeps it in the result, and tells the search how it went.
func (r *Runner) visit(ctx context.Context, lv result.Level) outcome {
	lv.Class = r.Class
	if known, ok := r.known(&lv); ok {
		return known
	}
	m := &levelRun{Runner: r, lv: &lv}
	err := m.warmUp(ctx)
	if err == nil && r.Ready != nil {
		err = r.Ready(ctx)
	}
	if err == nil {
		err = m.measure(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = run.ErrInterrupted // what fails because the user stopped the run is no fault of the server
	}
	m.ignore() // what ends now is in no window
	m.stop()
	m.stopMetrics()
	err = errors.Join(err, m.finish(err))
	if err != nil && !errors.Is(err, run.ErrInterrupted) {
		lv.Unfinished, lv.Accepted = true, false
	}
	if len(lv.Windows) > 0 || err == nil {
		r.Observer.LevelEnds(&lv)
		r.res.Levels = append(r.res.Levels, lv)
		r.limits = append(r.limits, m.reasons)
	}
	if err == nil && r.Ended != nil {
		err = r.Ended(ctx, &lv, m.reasons)
	}
	return r.outcomeOf(&lv, err)
}

// outcomeOf is what the search needs to know of a level.
func (r *Runner) outcomeOf(lv *result.Level, err error) outcome {
	return outcome{
		met: lv.Stable && !lv.OverLimit, stable: lv.Stable, err: err,
		goOn: !r.Plan.Policies.StopUnstable && !lv.Stable && !measure.OverLimit(&lv.Client, &r.Plan.Measure),
	}
}

// known takes the next of the known levels into the result if it is the one that the search visits.
func (r *Runner) known(lv *result.Level) (outcome, bool) {
	if len(r.Known) == 0 || r.Known[0].Level.Mode != lv.Mode || r.Known[0].Level.Concurrency != lv.Concurrency || r.Known[0].Level.Rate != lv.Rate {
		return outcome{}, false
	}
	known := r.Known[0].Level
	r.res.Levels = append(r.res.Levels, known)
	r.limits = append(r.limits, r.Known[0].Limits)
	r.Known = r.Known[1:]
	r.Observer.LevelBegins(&known, false)
	r.Observer.LevelEnds(&known)
	return r.outcomeOf(&known, nil), true
}

// levelRun is the measurement of one level.
type levelRun struct {
	*Runner
	lv      *result.Level
	passes  []*pass    // as many as lv.Windows
	window  *pass      // that counts what the inbox passes on
	inbox   *run.Inbox // holds what ended after the window
	reasons []result.Reason
	paced   bool // an open loop is running
	order   run.Order
	load    measure.Asked
	failed  []engine.Failure // failures before this level
	polling bool             // the metrics poller is at work
	wanted  int              // how many requests this process sends; 0 if the plan gives no number
}

// warmUp sends the requests that do not count.
func (m *levelRun) warmUp(ctx context.Context) error {
	w := m.Plan.Measure.WarmupCount
	if w == 0 || m.lv.Mode == plan.SessionConcurrency { // a conversation has no turns to spare
		return nil
	}
	warm := *m.lv
	if m.lv.Mode == plan.Concurrency {
		if m.lv.Concurrency > w {
			m.Observer.Warn(Warning{Kind: WarmupExceeded})
			warm.Concurrency = w
		}
		m.Observer.LevelBegins(&warm, true)
	}
	m.Plan.Target.Tracing.Until(traceid.Never)
	defer m.Plan.Target.Tracing.Until(traceid.Always)
	if err := m.start(ctx, run.Order{Level: &warm, Limit: w, Warm: true}); err != nil {
		return err
	}
	err := m.untilIdle(ctx)
	m.stop()
	if failed, ok := errors.AsType[*LoadError](err); ok && failed.Stall == nil && m.Plan.Policies.IgnoreWarmup {
		m.clear = true
	} else if err != nil {
		return err // some requests may still be in flight
	}
	m.restart = true
	return nil
}

// start begins an order. Level and limit are those of the whole load: this process sends its segment of it.
func (m *levelRun) start(ctx context.Context, o run.Order) error {
	o.Restart, o.Clear = m.restart, m.clear
	m.restart, m.clear = false, false
	if o.Seed == 0 {
		o.Seed = m.Plan.Load.Seed
	}
	m.wanted, m.lv.Idle = m.share(&o)
	m.order, m.load = o, m.asked(&o)
	m.paced = o.Level.Mode.Scheduled() && !m.lv.Idle
	return m.eng.Begin(ctx, o)
}

// stop ends an open loop and lets what it has in flight end. A closed loop runs on into the next level.
func (m *levelRun) stop() {
	if !m.paced {
		return
	}
	m.eng.Stop()
	m.paced = false
	m.drain(run.DrainTime)
}

// measure repeats passes until three agree, the limit is crossed, or the trials are used up.
func (m *levelRun) measure(ctx context.Context) error {
	if m.Exporter != nil {
		if err := m.Exporter.Begin(m.lv.Mode, m.lv.Concurrency, m.lv.Rate); err != nil {
			return err
		}
	}
	first, err := m.begin(ctx)
	if err != nil {
		return err
	}
	trials := m.Plan.Measure.MaxTrials
	if m.oneWindow() {
		trials = 1
	}
	for n := 1; n <= trials; n++ {
		p := first
		if n > 1 {
			p = m.follow(m.passes[len(m.passes)-1])
		}
		err := m.pass(ctx, p, n, trials)
		m.keep(p, n)
		if err != nil {
			return err
		}
		if ctx.Err() != nil { // while the window was closed
			return run.ErrInterrupted
		}
		if done, err := m.together(ctx); done || err != nil {
			return err
		}
	}
	return nil
}

// settled tells whether the passes so far decide the level.
func (m *levelRun) settled() bool {
	rules := &m.Plan.Measure
	if m.lv.Idle {
		m.lv.Stable, m.lv.Reason = true, ""
		return true
	}
	if m.oneWindow() {
		m.lv.Stable, m.lv.Untested = m.lv.Windows[0].Error == "", true
		return true
	}
	m.lv.Stable, m.lv.Reason = measure.Stable(m.lv.Windows, rules, false)
	if m.lv.Stable {
		return true
	}
	if rules.LatencyLimit == 0 || len(m.lv.Windows) < measure.StableWindows {
		return false
	}
	for _, w := range m.lv.Windows[len(m.lv.Windows)-measure.StableWindows:] {
		if w.Error == "" && measure.OverLimit(&w.Client, rules) {
			return true
		}
	}
	return false
}

// finish merges the last windows, judges the level and closes its export. cause is why measuring ended early.
func (m *levelRun) finish(cause error) error {
	rules := &m.Plan.Measure
	if !m.lv.Stable && m.Async && cause == nil && !m.finite() {
		if ok, _ := measure.Stable(m.lv.Windows, rules, true); ok {
			m.lv.Stable, m.lv.LatencyUnstable, m.lv.Reason = true, true, ""
		}
	}
	if cause != nil {
		m.lv.Unfinished, m.lv.Stable, m.lv.Reason = true, false, "the level was not finished: "+cause.Error()
	}
	err := m.merge()
	m.lv.OverLimit = measure.OverLimit(&m.lv.Client, rules) && (m.lv.Stable || !m.Plan.Policies.LimitStable)
	m.lv.Accepted = m.lv.Stable && !m.lv.OverLimit || errors.Is(cause, run.ErrInterrupted) && m.lv.Client.Requests > 0
	if cause == nil {
		err = errors.Join(m.windowError(), err)
	}
	if m.Exporter != nil && len(m.lv.Windows) > 0 {
		if lost := m.Exporter.End(m.boundaries()); cause == nil { // else it is said already, or will be when the file is put in place
			err = errors.Join(err, lost)
		}
	}
	return err
}

// windowError is the first error among the last three windows: an early bad window is forgotten once three good
// ones follow.
func (m *levelRun) windowError() error {
	for _, w := range m.lastWindows() {
		if w.Error != "" {
			return ErrNoRequests
		}
	}
	return nil
}

func (m *levelRun) lastWindows() []result.Window {
	return m.lv.Windows[max(0, len(m.lv.Windows)-measure.StableWindows):]
}

// used are the passes that count: the last three. Where no request was answered in those, as after the server's death,
// they are the last three until then.
func (m *levelRun) used() []*pass {
	last := len(m.passes) - m.dead()
	return m.passes[max(0, last-measure.StableWindows):last]
}

// dead is how many windows at the end had no answers, where these are all of the last three and others had some.
func (m *levelRun) dead() int {
	for i := range m.lv.Windows {
		if m.lv.Windows[len(m.lv.Windows)-1-i].Client.Requests == 0 {
			continue
		}
		if i < measure.StableWindows {
			return 0
		}
		return i
	}
	return 0
}

// merge computes the level from the windows that count.
func (m *levelRun) merge() error {
	used := m.used()
	if len(used) == 0 {
		return nil
	}
	m.lv.Dead, m.lv.Used = m.dead(), len(used)
	total := measure.New(m.config(false))
	state := run.Read(m.eng, run.Glance)
	for _, p := range used {
		total.Merge(p.rec)
	}
	total.Dropped(state.Dropped)
	*m.lv, m.reasons = total.Level(*m.lv, m.judgment(state.Scheduled))
	if m.Floor != nil {
		m.Floor(m.lv)
	}
	m.lv.Failures = m.newFailures(state.Failures)
	err := m.serverLevel(used)
	if m.lv.Server != nil {
		m.lv.Hold = total.Hold(m.Model, m.lv.Server.Stats.Queue)
	}
	return err
}

// recordsOption is the option that writes every request to a file.
const recordsOption = "--profile-export-file"

// judgment is the load that the level asked for, whose schedule began at a time, and how it is judged.
func (m *levelRun) judgment(scheduled int64) *measure.Asked {
	a := m.load
	a.Fixed, a.Scheduled, a.Steady = m.finite(), scheduled, m.finite() && !m.Plan.Policies.WholeTime
	a.ThinkTime = m.Plan.Load.ThinkTime.Mean > 0
	if m.Plan.Policies.PerThread {
		a.Threads = max(1, m.Plan.Load.MaxThreads)
	}
	a.Pulse, a.MaxProcs = m.pulse, runtime.GOMAXPROCS(0)
	a.Options = measure.Options{Rate: "--request-rate-range", Records: recordsOption, Here: plan.IsLocal(m.Plan.Target.URL)}
	if len(m.lv.Stages) > 0 {
		a.Options.Rate = "the rates"
	}
	if a.Rate > 0 && !a.Fixed {
		a.Due = func(from, until int64) float64 {
			return pace.Due(m.schedule(&run.Order{Level: m.lv, Seed: m.order.Seed}), time.Duration(from-a.Scheduled), time.Duration(until-a.Scheduled))
		}
	}
	a.Share = func(i, n int) (int, float64) {
		part := segment.Segment{Index: i, Of: n}
		return part.Share(a.Concurrency), m.dealOf(m.lv, part).Rate(1)
	}
	return &a
}

// newFailures are those of all failures that the level has had since it began.
func (m *levelRun) newFailures(all []engine.Failure) []result.Failure {
	var out []result.Failure
	for i, f := range all {
		if i < len(m.failed) {
			f.Count -= m.failed[i].Count
		}
		if f.Count > 0 {
			out = append(out, result.Failure{Class: className(f), Text: result.FailureText(service.Reason(f.Err)), Count: f.Count, Slot: f.Worker})
		}
	}
	return out
}

// className names a class of failure; a refusal over HTTP with its status.
func className(f engine.Failure) string {
	const firstStatus = 100 // the codes of gRPC are smaller
	if e, ok := errors.AsType[*service.Error](f.Err); ok && f.Class == record.Server && e.Code >= firstStatus {
		return fmt.Sprintf("%s %d", f.Class, e.Code)
	}
	return f.Class.String()
}

// boundaries are the edges of the windows in Unix nanoseconds, shared edges once.
func (m *levelRun) boundaries() []int64 {
	if m.lv.Mode == plan.SessionConcurrency { // it has no windows of its own: everything counts
		return []int64{0, math.MaxInt64}
	}
	var out []int64
	last := int64(math.MinInt64)
	for _, w := range m.lv.Windows {
		if w.StartUnixNs != last {
			out = append(out, w.StartUnixNs)
		}
		last = w.EndUnixNs
		out = append(out, last)
	}
	return out
}
