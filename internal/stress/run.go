package stress

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// Config is what a run works with.
type Config struct {
	Plan    *Plan
	Service service.Service
	Model   *service.Model
	// Train makes one call of several requests of a sequence, which are sent without waiting for responses. If it is nil, a call
	// is one request.
	Train func(cars []service.Car) (service.Request, error)
	// Control loads and unloads the model; needed with Plan.Chaos.
	Control Control
	// Cutter is the proxy between client and server; needed with Plan.CutEvery.
	Cutter *Cutter
	// ServerIdle is how long the server keeps an idle sequence; 0 if it does not say so.
	ServerIdle time.Duration
	// Patience is how long the server may send nothing; 0 uses the engine's default.
	Patience time.Duration
	// Tap receives every request when it ends; it may be nil.
	Tap func(*record.Record) error
	// Observer receives the events of the run. Its methods are called from several goroutines.
	Observer Observer
}

// Observer receives the progress of a run.
type Observer interface {
	// Line is one line of the output of -v.
	Line(text string)
	// Failed is called at each failure.
	Failed(f *Failure)
	// Progress comes several times per second.
	Progress(p Progress)
}

// Progress is the current state of the run.
type Progress struct {
	Passes, Wanted int // Wanted is 0 when the run ends by time
	Requests       uint64
	Failures       int
	Rate           float64 // responses per second
	Elapsed        time.Duration
	// Live returns the current state of the run as a level.
	Live func() *result.Level
}

type run struct {
	cfg     *Config
	plan    *Plan
	model   *accumulator
	eng     *engine.Engine
	only    *replay // nil for all passes
	threads []*thread
	began   int64
	search  search

	stopping atomic.Bool
	unloads  atomic.Int64
	ids      atomic.Uint64 // of requests that are calls of their own
	left     atomic.Int64  // running threads
	finished chan struct{} // all threads have ended

	mu       sync.Mutex
	failures []*Failure
	err      error // why the run cannot continue

	places [numPlaces]place
	meter  *meter
	rate   rate // of watch
}

// DrainTime is how long sequences may continue after the first interrupt.
const DrainTime = 5 * time.Second

const tick = 50 * time.Millisecond

// Run sends the sequences and returns the outcome. When ctx ends, sequences in progress may end; when hard ends they are canceled.
// The error says why the run could not be done, not what the server did.
func Run(ctx, hard context.Context, cfg Config) (*Summary, error) {
	model, err := newAccumulator(cfg.Model)
	if err != nil {
		return nil, err
	}
	r := &run{cfg: &cfg, plan: cfg.Plan, model: model, finished: make(chan struct{})}
	r.search.run, r.search.canceled = r, func() bool { return hard.Err() != nil }
	if err := r.makeThreads(); err != nil {
		return nil, err
	}
	before, _ := r.stats(ctx)
	slots := len(r.threads) * r.plan.Contexts()
	r.eng, err = engine.Open(hard, engine.Config{
		Service: cfg.Service, Source: func(slot, _ int) engine.Source { return r.line(slot) }, Keep: true, Timeout: r.plan.Timeout, Patience: cfg.Patience,
	})
	if err != nil {
		return nil, err
	}
	r.began, r.meter = clock.Now(), newMeter(cfg.Tap)
	err = r.load(ctx, hard, slots)
	err = errors.Join(err, r.eng.Close())
	r.search.wait()
	err = errors.Join(err, r.meter.err)
	s := r.summary()
	after, statsErr := r.stats(context.WithoutCancel(ctx))
	if statsErr == nil {
		s.Server = since(after, before)
	}
	s.Interrupted = ctx.Err() != nil
	r.mu.Lock()
	defer r.mu.Unlock()
	if err = errors.Join(err, r.err); err != nil {
		s.Error = err.Error()
	}
	return s, err
}

func (r *run) makeThreads() (err error) {
	if r.only, err = parseReplay(r.plan.Replay, r.plan.Threads); err != nil {
		return err
	}
	for i, seed := range Seeds(r.plan) {
		t := &thread{run: r, id: i, seed: seed}
		for c := range r.plan.Contexts() {
			id := r.plan.ID(i, c)
			t.lines = append(t.lines, &line{t: t, index: c, slot: i*r.plan.Contexts() + c, id: id, name: r.plan.name(id)})
		}
		r.threads = append(r.threads, t)
		t.draw = r.passes(i)
	}
	r.left.Store(int64(len(r.threads)))
	return nil
}

// passes draws what a thread sends, from its first pass on; nil at the end.
func (r *run) passes(thread int) func() *Pass {
	g := newGenerator(r.plan, thread, r.threads[thread].seed)
	if r.only != nil {
		return r.only.of(thread, g)
	}
	return func() *Pass {
		if r.plan.Iterations > 0 && g.next >= r.plan.Iterations {
			return nil
		}
		return g.pass()
	}
}

// load runs until all threads have ended.
func (r *run) load(ctx, hard context.Context, slots int) error {
	for _, t := range r.threads {
		t.mu.Lock()
		r.logThread(t)
		t.advance()
		t.mu.Unlock()
	}
	if err := r.eng.Start(ctx, &engine.Closed{Concurrency: slots}); err != nil {
		return err
	}
	disturbing, calm := context.WithCancel(ctx)
	var others sync.WaitGroup
	r.disturb(disturbing, &others)
	wait, cut := context.WithCancel(hard)
	defer cut()
	if !r.watch(ctx, hard) {
		cut()
	}
	calm()
	others.Wait()
	r.eng.Stop()
	_ = r.eng.Wait(wait) // requests that did not end were canceled
	return nil
}

// watch reports progress until the run ends. It returns false if sequences did not end in time.
func (r *run) watch(ctx, hard context.Context) bool {
	var end <-chan time.Time
	if r.plan.Duration > 0 {
		end = time.After(r.plan.Duration)
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	stopped := ctx.Done()
	for {
		select {
		case <-r.finished:
			return true
		case <-hard.Done():
			return false
		case <-r.eng.Failed(): // errors of the server do not end the load, so the server sends nothing
			r.abort(r.eng.GivenUp())
			return false
		case <-stopped:
			r.stopping.Store(true)
			stopped = nil
			end = time.After(DrainTime + r.plan.IdleTime)
		case <-end:
			if r.stopping.Swap(true) {
				return false
			}
			end = nil
		case <-ticker.C:
			r.cfg.Observer.Progress(r.progress())
		}
	}
}

func (r *run) threadEnds() {
	if r.left.Add(-1) == 0 {
		close(r.finished)
	}
}

func (r *run) line(slot int) *line {
	n := r.plan.Contexts()
	return r.threads[slot/n].lines[slot%n]
}

// wake tells the engine that slots have something to send.
func (r *run) wake(slots []int) {
	for _, s := range slots {
		r.eng.Wake(s)
	}
}

// couple returns how many of the steps are sent without waiting. A second sequence with the same id waits for the end of the
// first, unless --back-to-back is given: a server may run both at once, and a model that identifies sequences by their ids would
// mix them up.
func (r *run) couple(steps []Step) int {
	n := 1
	for r.cfg.Train != nil && n < len(steps) && steps[n].Wait == 0 && (steps[n].Part == steps[0].Part || r.plan.BackToBack) {
		n++
	}
	return n
}

// prepare makes the call that carries the steps.
func (r *run) prepare(l *line, steps []Step) (service.Request, error) {
	cars := make([]service.Car, len(steps))
	for i := range steps {
		in, err := r.model.inputs(steps[i].Value)
		if err != nil {
			return nil, err
		}
		cars[i] = service.Car{Inputs: in, ID: uint64(l.id), Start: steps[i].Start, End: steps[i].End}
		if r.plan.StringIDs {
			cars[i].Name = l.name
		}
	}
	if r.cfg.Train == nil {
		return r.cfg.Service.Prepare(cars[0].Inputs)
	}
	return r.cfg.Train(cars)
}

// abort ends the run because of an error of this program.
func (r *run) abort(err error) {
	r.stopping.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// keep adds a failure to the outcome, and ends the run after MaxFailures. It returns whether to report the failure.
func (r *run) keep(f *Failure) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, f)
	if len(r.failures) >= r.plan.MaxFailures {
		r.stopping.Store(true)
	}
	return len(r.failures) <= r.plan.MaxFailures
}

func (r *run) stats(ctx context.Context) ([]service.ModelStats, error) {
	reader, ok := r.cfg.Service.(service.StatsReader)
	if !ok {
		return nil, errors.New("the service keeps no statistics")
	}
	ctx, cancel := context.WithTimeout(ctx, DrainTime)
	defer cancel()
	return reader.Stats(ctx)
}

func since(after, before []service.ModelStats) []service.ModelStats {
	for i := range after {
		for _, b := range before {
			if b.Name == after[i].Name && b.Version == after[i].Version {
				after[i] = after[i].Sub(b)
			}
		}
	}
	return after
}
