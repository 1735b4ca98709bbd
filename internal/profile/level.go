package profile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/traceid"
)

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
		err = ErrInterrupted // what fails because the user stopped the run is no fault of the server
	}
	m.eng.Sync(func() { m.collect = nil }) // what ends now is in no window
	m.stop()
	m.stopMetrics()
	err = errors.Join(err, m.finish(err))
	if err != nil && !errors.Is(err, ErrInterrupted) {
		lv.Unfinished, lv.Accepted = true, false
	}
	if len(lv.Windows) > 0 || err == nil {
		r.Observer.LevelEnds(&lv)
		r.res.Levels = append(r.res.Levels, lv)
		r.limits = append(r.limits, m.reasons)
	}
	if err == nil && r.Fleet != nil {
		err = r.Fleet.Ended(&lv, m.reasons)
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
	passes  []*pass // as many as lv.Windows
	held    []held  // records that ended after the window that was open when they were collected
	reasons []result.Reason
	paced   bool // an open loop is running
	load    measure.Asked
	failed  []engine.Failure // failures before this level
	polling bool             // the metrics poller is at work
	wanted  int              // how many requests this process sends; 0 if the plan gives no number
}

// warmUp sends the requests that do not count.
func (m *levelRun) warmUp(ctx context.Context) error {
	m.failed = m.eng.Failures()
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
	if err := m.start(ctx, &warm, w); err != nil {
		return err
	}
	err := m.untilIdle(ctx)
	m.stop()
	if failed, ok := errors.AsType[*LoadError](err); ok && failed.Stall == nil && m.Plan.Policies.IgnoreWarmup {
		m.eng.ClearFailures()
	} else if err != nil {
		return err // some requests may still be in flight
	}
	m.eng.Restart()
	return nil
}

// start sets the load of a level, which ends after limit requests; 0 is no limit. Level and limit are those of the whole load: this
// process sends its segment of it.
func (m *levelRun) start(ctx context.Context, lv *result.Level, limit int) error {
	deal := m.deal(lv)
	m.wanted = deal.Count(limit)
	m.lv.Idle = deal.Idle() || limit > 0 && m.wanted == 0
	switch lv.Mode {
	case plan.Concurrency:
		loop := m.closedLoop(lv.Concurrency, m.wanted)
		m.load = measure.Asked{Concurrency: loop.Concurrency}
		return m.begins(ctx, loop, lv, limit)
	case plan.SessionConcurrency: // pauses are part of it, so there is no number in flight to hold it to
		m.load = measure.Asked{}
		return m.begins(ctx, &engine.Closed{Concurrency: deal.Own(), Whole: lv.Concurrency}, lv, limit)
	case plan.RequestRate, plan.CustomIntervals, plan.FixedSchedule, plan.PeriodicConcurrency:
	}
	return m.startOpen(ctx, lv, limit)
}

// The slots of an open loop with asynchronous calls: few at first, more as they are needed.
const (
	firstSlots = 16
	mostSlots  = 1 << 16
)

func (m *levelRun) startOpen(ctx context.Context, lv *result.Level, limit int) error {
	deal := m.deal(lv)
	part := deal.Segment
	schedule := m.schedule(lv, limit)
	m.load = measure.Asked{Rate: deal.Rate(lv.Rate)}
	if m.lv.Idle {
		return nil
	}
	threads := max(1, part.Share(m.Plan.Load.MaxThreads))
	if lv.Mode == plan.FixedSchedule {
		threads = min(threads, m.wanted) // each time belongs to a step; threads take them in turn
	}
	// Arrivals go to the sources in turn: source i of this process has every arrival that source i·Lanes + Index of threads·Lanes
	// would have.
	load := &engine.Paced{Schedule: schedule, Sources: threads, WholeSources: threads * deal.Lanes, Limit: m.wanted, Seed: part.Seed(m.Plan.Load.Seed)}
	if m.Model.Sequential() {
		load.Sources, load.WholeSources, load.Order = deal.Own(), deal.Lanes, m.order()
		threads = min(threads, load.Sources)
	}
	load.Slots, load.Cap, load.Workers = threads, threads, threads
	m.load.Cap, m.load.Serial = threads, load.Order == engine.Serial
	if m.Async {
		load.Slots, load.Cap = max(threads, firstSlots), mostSlots
		m.load.Cap = 0
		load.Ordered = m.streamed()
	}
	m.paced = true
	return m.begins(ctx, load, lv, limit)
}

// begins orders the load.
func (m *levelRun) begins(ctx context.Context, loop engine.Loop, lv *result.Level, limit int) error {
	return m.eng.Begin(ctx, Order{Loop: loop, Level: lv, Limit: limit, Seed: m.Plan.Load.Seed})
}

// schedule is the part of a level's schedule that this process has.
func (m *levelRun) schedule(lv *result.Level, limit int) pace.Schedule {
	return pace.Part(m.wholeSchedule(lv, limit), m.deal(lv))
}

func (m *levelRun) wholeSchedule(lv *result.Level, limit int) pace.Schedule {
	switch {
	case lv.Mode == plan.FixedSchedule:
		n := min(limit, len(m.Times))
		times := m.Times[:n]
		m.Times = m.Times[n:]
		return pace.Fixed(times)
	case lv.Mode == plan.CustomIntervals:
		return pace.Intervals(m.gaps)
	case len(m.Plan.Load.Stages) > 0:
		return m.staged()
	case m.Plan.Load.Distribution == plan.Poisson:
		return pace.Poisson(lv.Rate, m.Plan.Load.Seed)
	default:
		return pace.Constant(lv.Rate)
	}
}

// staged is the schedule of stages.
func (m *levelRun) staged() pace.Schedule {
	if m.Plan.Load.Distribution == plan.Poisson {
		return pace.Stages(m.Plan.Load.Stages, rand.New(rand.NewPCG(m.Plan.Load.Seed, 0)).ExpFloat64)
	}
	return pace.Stages(m.Plan.Load.Stages, nil)
}

// stop ends an open loop and lets what it has in flight end. A closed loop runs on into the next level.
func (m *levelRun) stop() {
	if !m.paced {
		return
	}
	m.eng.Stop()
	m.paced = false
	m.waitForEnds(m.hard)
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
			return ErrInterrupted
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
	m.lv.Accepted = m.lv.Stable && !m.lv.OverLimit || errors.Is(cause, ErrInterrupted) && m.lv.Client.Requests > 0
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
	for _, p := range used {
		total.Merge(p.rec)
	}
	total.Dropped(m.eng.Dropped())
	*m.lv, m.reasons = total.Level(*m.lv, m.asked())
	if m.Floor != nil {
		m.Floor(m.lv)
	}
	m.lv.Failures = m.newFailures()
	err := m.serverLevel(used)
	if m.lv.Server != nil {
		m.lv.Hold = total.Hold(m.Model, m.lv.Server.Stats.Queue)
	}
	return err
}

// recordsOption is the option that writes every request to a file.
const recordsOption = "--profile-export-file"

// asked is the load that the level asked for.
func (m *levelRun) asked() *measure.Asked {
	a := m.load
	a.Fixed, a.Scheduled, a.Steady = m.finite(), m.eng.Scheduled(), m.finite() && !m.Plan.Policies.WholeTime
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
			return pace.Due(m.schedule(m.lv, 0), time.Duration(from-a.Scheduled), time.Duration(until-a.Scheduled))
		}
	}
	a.Share = func(i, n int) (int, float64) {
		part := segment.Segment{Index: i, Of: n}
		return part.Share(a.Concurrency), m.dealOf(m.lv, part).Rate(1)
	}
	return &a
}

// newFailures are the failures since the level began.
func (m *levelRun) newFailures() []result.Failure {
	var out []result.Failure
	for i, f := range m.eng.Failures() {
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
