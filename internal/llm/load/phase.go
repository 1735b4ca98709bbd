package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/traceid"
)

// phase is the warm-up or the measured part of a level.
type phase struct {
	warm            bool
	lv              Level
	load            Shape
	limit, sessions int64 // 0: none
	duration, grace time.Duration
	deal            segment.Deal // which conversations and arrivals this process has
	none            bool         // it has nothing to send

	start, ended int64
	from         measure.State   // when the measured time began: at start, or later where a Watch lets the load settle
	counted      int64           // the last send time of requests that count
	stopped      <-chan struct{} // closed by cancel, or when the run is interrupted: nothing more is started
	cancel       context.CancelFunc
	supply       *supply
	started      atomic.Int64 // requests
	drawn        atomic.Int64 // conversations
	opening      sync.Mutex   // held by newSession
	pending      atomic.Int64 // jobs that were made and have not ended
	over         atomic.Bool  // nothing more is started
	last         atomic.Bool  // no conversation begins any more; those under way go on
	failure      atomic.Pointer[error]
	once         sync.Once
	idle         chan struct{} // closed when nothing is left to do
	cut          atomic.Bool   // what did not end in time was cut
	after        measure.State // when the phase ended
}

// lastCounted is the last send time of requests that count: none of a warm-up do, nor those that are sent in the cool-down.
func (p *phase) lastCounted(cooldown time.Duration) int64 {
	switch {
	case p.warm:
		return traceid.Never
	case cooldown > 0 && p.duration > 0:
		return p.start + int64(p.duration-cooldown)
	}
	return traceid.Always
}

// newPhase is the warm-up of a level, or its measured part.
func newPhase(o *Options, lv Level, warm bool) *phase {
	if !warm {
		return &phase{lv: lv, load: o.Shape, limit: int64(o.Requests), sessions: int64(o.Sessions), duration: o.Duration, grace: o.Grace}
	}
	w := &o.Warmup
	p := &phase{warm: true, lv: w.Level, load: w.Shape, limit: int64(w.Requests), sessions: int64(w.Sessions), duration: w.Duration, grace: w.Grace}
	if w.Level.Mode == "" {
		p.lv = lv
	}
	return p
}

// spend takes one request from the limit.
func (p *phase) spend() bool {
	if p.over.Load() {
		return false
	}
	if n := p.started.Add(1); p.limit > 0 && n > p.limit {
		p.started.Add(-1)
		p.finish()
		return false
	}
	return true
}

// finish starts nothing more.
func (p *phase) finish() {
	p.over.Store(true)
	p.cancel()
	p.check()
}

// check ends the phase when nothing is left.
func (p *phase) check() {
	if (p.over.Load() || p.last.Load()) && p.pending.Load() == 0 {
		p.once.Do(func() { close(p.idle) })
	}
}

// drop ends a job that has ended or will not be sent.
func (p *phase) drop() {
	p.pending.Add(-1)
	p.check()
}

// fail ends the phase because of an error of ours.
func (p *phase) fail(err error) {
	p.failure.CompareAndSwap(nil, &err)
	p.finish()
}

// newSession takes the next conversation and its first request from the limit; nil when there is none. Slots take turns, so
// that the requests that are sent are the first ones of the source: addresses then get equal shares.
func (p *phase) newSession() *session {
	p.opening.Lock()
	defer p.opening.Unlock()
	if t := p.converse(); t != nil && p.spend() {
		return t
	}
	return nil
}

// converse takes the next conversation; nil when there is none.
func (p *phase) converse() *session {
	if p.over.Load() || p.last.Load() {
		return nil
	}
	if n := p.drawn.Add(1); p.sessions > 0 && n > p.sessions {
		p.last.Store(true)
		return nil
	}
	var next ready
	var ok bool
	select {
	case next, ok = <-p.supply.out:
	case <-p.stopped: // a long prompt may take minutes to make
		return nil
	}
	switch {
	case !ok:
		p.last.Store(true)
		return nil
	case next.err != nil:
		p.fail(next.err)
		return nil
	}
	return next.session
}

// phase carries one phase out.
func (r *levelRun) phase(ctx, hard context.Context, p *phase) (err error) {
	loading := r.ready(ctx, p)
	defer p.cancel()
	if r.own != nil {
		if p.supply, err = r.newSupply(p); err != nil {
			return err
		}
		defer p.supply.close(ctx)
	}
	if r.cfg.Measured != nil && !p.warm {
		r.cfg.Measured()
	}
	r.watch.reset(r.cfg.First)
	o := run.Order{Clear: !r.begun, Starts: func(at int64, s *run.State) {
		p.start, p.from, r.begun = at, s.State, true
		p.counted = p.lastCounted(r.cfg.Options.Cooldown)
		r.cfg.Tracing.Until(p.counted)
		r.begin(p, at)
	}}
	if r.own == nil {
		return r.conduct(ctx, hard, p, o)
	}
	stop, err := r.start(loading, p, o.Start(r.own))
	if err != nil {
		return err
	}
	return r.finish(ctx, hard, p, stop)
}

// ready makes a phase the one that is carried out. The context that it returns ends with the load.
func (r *levelRun) ready(ctx context.Context, p *phase) context.Context {
	p.divide(r.cfg.Options.Segment)
	loading, cancel := context.WithCancel(ctx)
	p.stopped, p.cancel = loading.Done(), cancel
	p.idle = make(chan struct{})
	r.gate.reset(p.load.Prefill)
	// A job may be given out before the first is: the phase itself counts as one until it is under way.
	p.pending.Add(1)
	r.now.Store(p)
	return loading
}

// finish waits for the end of a phase that is under way. stop ends what starts requests.
func (r *levelRun) finish(ctx, hard context.Context, p *phase, stop func()) error {
	p.drop()
	r.await(ctx, hard, p)
	p.finish()
	stop()
	r.settle(hard, p)
	if err := p.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// start begins the load of a phase. stop ends what starts requests.
func (r *levelRun) start(ctx context.Context, p *phase, begin beginning) (stop func(), err error) {
	switch {
	case p.none:
		p.last.Store(true) // no conversation begins
		_, err := begin(ctx)
		return func() {}, err
	case p.lv.Mode == plan.Concurrency && len(p.lv.Stages) > 0:
		return r.startStages(ctx, p, begin)
	case p.lv.Mode == plan.Concurrency:
		return func() {}, r.setSessions(ctx, p, p.lv.Concurrency, begin)
	}
	return func() {}, r.startOpen(ctx, p, begin)
}

// startStages changes the number of sessions as time goes on. A stage that rises or falls does so in steps.
func (r *levelRun) startStages(ctx context.Context, p *phase, begin beginning) (stop func(), err error) {
	const step = 100 * time.Millisecond
	if err := r.setSessions(ctx, p, max(1, int(p.lv.Stages[0].From)), begin); err != nil {
		return nil, err
	}
	p.duration = pace.Length(p.lv.Stages)
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		now := max(1, int(p.lv.Stages[0].From))
		for clock.SleepUntil(ctx, clock.Now()+int64(step)) {
			n := sessionsAt(p.lv.Stages, time.Duration(clock.Now()-p.start))
			if n != now && r.setSessions(ctx, p, n, new(run.Order).Start(r.own)) == nil {
				now = n
			}
		}
	})
	return func() { cancel(); done.Wait() }, nil
}

// sessionsAt is how many sessions the stages ask for after some time.
func sessionsAt(stages []pace.Stage, t time.Duration) int {
	for _, s := range stages {
		if t < s.Time {
			return max(1, int(s.From+(s.To-s.From)*float64(t)/float64(s.Time)+0.5))
		}
		t -= s.Time
	}
	return max(1, int(stages[len(stages)-1].To))
}

// tick is how often the bounds of a phase are checked.
const tick = 10 * time.Millisecond

// await waits until the phase is over, by itself or by one of its bounds.
func (r *levelRun) await(ctx, hard context.Context, p *phase) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	stopped, failed := ctx.Done(), r.eng.Failed()
	var deadline int64 // when what is in flight is cut
	for {
		select {
		case <-p.idle:
			return
		case <-hard.Done():
			r.eng.Sync(run.Glance, r.interrupt)
			return
		case <-stopped:
			stopped = nil
			r.eng.Sync(run.Glance, r.interrupt)
			r.release(p)
			deadline = clock.Now() + int64(min(max(p.grace, time.Second), run.DrainTime))
		case <-failed:
			p.finish()
			r.eng.Sync(run.Glance, r.giveUp)
			r.watched(p, clock.Now())
			return
		case <-ticker.C:
		}
		now := clock.Now()
		if deadline > 0 && now > deadline || p.cut.Load() {
			return
		}
		bounded := deadline == 0 && r.watched(p, now)
		r.eng.Sync(run.Glance, func(s *run.State) {
			bounded = bounded || r.bounded(p, now)
			r.progress(p, s, now)
		})
		if deadline == 0 && bounded {
			r.release(p)
			deadline = now + int64(p.grace)
		}
	}
}

// bounded tells whether one of the bounds of a phase is reached.
func (r *levelRun) bounded(p *phase, now int64) bool {
	if p.duration > 0 && now-p.start >= int64(p.duration) {
		return true
	}
	if r.cfg.Watch != nil && !p.warm { // it is told of failures and ends the measurement
		return false
	}
	reached := func() bool { return r.until != nil && r.until.Done(r.measured) }
	return !p.warm && (r.stop.text != "" || reached())
}

// release starts nothing more and gives back the jobs that wait.
func (r *levelRun) release(p *phase) {
	p.finish()
	if r.own == nil {
		r.eng.Stop() // the workers of a fleet release their parts
		return
	}
	r.mu.Lock()
	slots := len(r.workers)
	r.mu.Unlock()
	for slot := range slots {
		r.own.Wake(slot)
	}
	r.gate.open()
}

// settle cuts what is still in flight and waits for its end.
func (r *levelRun) settle(hard context.Context, p *phase) {
	select {
	case <-p.idle:
		r.eng.Stop()
		r.wait(hard, p)
		return
	default:
	}
	p.cut.Store(true)
	r.eng.Stop()
	ctx, cancel := context.WithCancel(hard)
	cancel()
	r.wait(ctx, p)
}

// wait blocks until nothing is in flight, and notes that as the end of the phase. When ctx ends, it cuts what is in flight.
func (r *levelRun) wait(ctx context.Context, p *phase) {
	if r.eng.Wait(ctx) != nil {
		r.eng.Cut()
	}
	r.eng.Sync(run.Exact, func(s *run.State) {
		p.after, p.ended = s.State, clock.Now()
		r.endFleet(p, s)
	})
}
