// Package profile runs a plan: it visits the levels of a search, measures windows at each until they agree,
// and gathers everything into one result. It decides when a level is good enough; the engine makes the load,
// measure does the arithmetic, an Observer shows it.
package profile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/scrape"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/vitals"
)

// The ways a run can end short of success.
var (
	ErrUnstable   = errors.New("failed to obtain stable measurement")
	ErrNoRequests = errors.New("a window had no successful request")
)

// LoadError means that failed requests ended the run.
type LoadError struct {
	Workers []engine.WorkerError
	Async   bool
	// Stall is set where it was no failed request, but a server without a sign of life.
	Stall *engine.StallError
}

func (e *LoadError) Error() string {
	if e.Stall != nil {
		return e.Stall.Error()
	}
	if len(e.Workers) == 0 {
		return result.RequestsFailed
	}
	return fmt.Sprintf("%s: %v", result.RequestsFailed, e.Workers[0].Err)
}

// Runner holds what a run needs.
type Runner struct {
	Plan    *plan.Plan
	Service service.Service
	Model   *service.Model
	// Source makes the source of a slot's requests.
	Source func(slot, active int) engine.Source
	// Async: calls are asynchronous; in open loop any number may be in flight.
	Async    bool
	Observer Observer
	Exporter Exporter // may be nil
	Tap      Tap      // may be nil
	Ranks    Ranks    // nil where this process measures alone
	// Class is the traffic class of a scenario that the run is; empty for other runs.
	Class string
	// Ready is called after the warm-up of each level, before its measurement; nil where there is nothing to wait for.
	Ready func(ctx context.Context) error
	// Floor adds what was calibrated for such traffic to the health of a measured level; nil where nothing was.
	Floor func(*result.Level)
	// Streams: a request may have several responses, whatever the plan says of streaming.
	Streams bool
	// SharedStreams: with --streaming, requests share streams that outlive them.
	SharedStreams bool
	// Times are the due times of a fixed schedule, those of its warm-up first.
	Times []time.Duration
	// Patience is how long the server may give no sign of life; 0 chooses, see the engine.
	Patience time.Duration
	// More says how to send more requests; empty names the options of redline profile.
	More string
	// Timeline keeps what happened over time, and the distribution of latencies, for reports that draw.
	Timeline bool

	// Fleet opens the load in place of an engine in this process; nil where this process makes the load itself.
	Fleet run.Open
	// Ended, if set, is told of each level that is over, and of each load of a search with nil: its records are no longer needed.
	Ended func(ctx context.Context, lv *result.Level, limits []result.Reason) error
	// Known are levels that were measured before, in the order of the search: they are not measured again.
	Known []run.Done

	hard context.Context // ends when requests in flight are cut
	eng  run.Load
	// collect receives the records of the load; nil ignores them. It is read and set in functions given to Sync.
	collect run.Collect
	// The next load is as the first one; it begins without failures.
	restart, clear bool
	pulse          *vitals.Pulse
	res            *result.Result
	limits         [][]result.Reason
	// unleveled is why the client limited a load that has no levels.
	unleveled []result.Reason
	gaps      []time.Duration // custom intervals
	poller    *scrape.Poller  // of the server's metrics; nil until it is needed
}

// Run carries out the plan until it is done, or until ctx ends: then it reports what it has. hard cuts what is
// in flight at once. The result is never nil; the error says why it is not complete.
func (r *Runner) Run(ctx, hard context.Context) (*result.Result, error) {
	r.res = &result.Result{Schema: result.Schema, Plan: r.Plan, Model: r.Model, Async: r.Async, StartUnixNs: clock.Wall(clock.Now())}
	err := r.run(ctx, hard)
	r.res.EndUnixNs = clock.Wall(clock.Now())
	r.res.Interrupted = errors.Is(err, run.ErrInterrupted)
	text := ""
	if err != nil && !errors.Is(err, ErrUnstable) && !r.res.Interrupted {
		text = err.Error()
	}
	r.res.Error = text
	r.res.Verdict = measure.Conclude(measure.Run{
		Levels: r.res.Levels, Limits: r.limits, MaxErrorRate: r.Plan.Measure.ValidErrorRate, Error: text,
		TooShort: errors.Is(err, ErrNoRequests), ServerGone: errors.As(err, new(*LoadError)), Interrupted: r.res.Interrupted, Unleveled: r.unleveled,
		Percentile: r.Plan.Measure.Percentile, Longer: "measure longer (--measurement-interval), or send a fixed number of requests (--request-count), which are waited for",
		More: cmp.Or(r.More, fmt.Sprintf("send at least %d requests (--request-count), or leave the option out: time windows are tested for stability", measure.FewestRequests)),
	})
	r.res.Environment = Environment()
	return r.res, err
}

// Environment is this machine.
func Environment() result.Environment {
	host, _ := os.Hostname() // a machine without a name has none
	return result.Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(),
		CPUs: runtime.NumCPU(), MaxProcs: runtime.GOMAXPROCS(0), Hostname: host,
	}
}

func (r *Runner) run(ctx, hard context.Context) error {
	r.hard = hard
	if err := r.open(ctx, hard); err != nil {
		return err
	}
	err := r.search(ctx)
	r.eng.Stop()
	r.drain(run.DrainTime)
	return errors.Join(err, r.close())
}

// readGaps reads the file of custom intervals.
func (r *Runner) readGaps(ctx context.Context) (err error) {
	if r.Plan.Load.Mode == plan.CustomIntervals {
		r.gaps, err = readIntervals(ctx, r.Plan.Load.Intervals, r.Plan.Policies.LenientIntervals)
	}
	return err
}

// open opens the load, and what watches this process.
func (r *Runner) open(ctx, hard context.Context) (err error) {
	if err = r.readGaps(ctx); err != nil {
		return err
	}
	if r.Fleet != nil {
		r.eng = r.Fleet(r.take)
	} else if r.eng, err = r.connect(hard, r.take); err != nil {
		return err
	}
	r.pulse = vitals.StartPulse()
	return nil
}

func (r *Runner) close() error {
	r.pulse.Stop()
	return r.eng.Close()
}

// drain lets the requests in flight end, and cancels those that take longer.
func (r *Runner) drain(limit time.Duration) { run.Drain(r.hard, r.eng, limit) }

// loadError says why the load ended.
func (r *Runner) loadError() error {
	s := run.Read(r.eng, run.Glance)
	stall := s.Stall()
	if s.Err != nil && stall == nil {
		return s.Err
	}
	return &LoadError{Workers: s.WorkerErrors, Async: r.Async, Stall: stall}
}

// take receives each record of the load.
func (r *Runner) take(rec *record.Record, events []record.Event, data []byte) {
	if r.collect != nil {
		r.collect(rec, events, data)
	}
}

// readIntervals reads a file of intervals. It may be a pipe that nothing writes to: an interrupt ends the waiting.
func readIntervals(ctx context.Context, path string, lenient bool) ([]time.Duration, error) {
	type content struct {
		gaps []time.Duration
		err  error
	}
	read := make(chan content, 1)
	go func() {
		f, err := os.Open(path)
		if err != nil {
			read <- content{nil, fmt.Errorf("read the request intervals: %w", err)}
			return
		}
		defer f.Close()
		gaps, err := pace.ReadIntervals(f, path, lenient)
		read <- content{gaps, err}
	}()
	select {
	case c := <-read:
		return c.gaps, c.err
	case <-ctx.Done():
		return nil, run.ErrInterrupted
	}
}

// finite tells whether the load ends by itself, after so many requests, with its last stage, or when all sessions are over. It
// is then measured in one window, which it fills.
func (r *Runner) finite() bool {
	return r.Plan.Measure.RequestCount > 0 || len(r.Plan.Load.Stages) > 0 || r.Plan.Load.Mode == plan.SessionConcurrency
}

// oneWindow tells whether a level is measured in one window.
func (r *Runner) oneWindow() bool { return r.finite() || r.Plan.Measure.OneWindow }

// config says what a window collects.
func (r *Runner) config(timeline bool) measure.Config {
	return measure.Config{Setup: r.setup(), Timeline: timeline, Span: r.finite()}
}

// setup is what the formulas need to know.
func (r *Runner) setup() measure.Setup {
	return measure.Setup{
		Batch: r.Plan.Input.Batch, FromSend: r.Plan.Measure.FromSend,
		Open:       r.Plan.Load.Mode != plan.Concurrency && r.Plan.Load.Mode != plan.SessionConcurrency,
		Percentile: r.Plan.Measure.Percentile, Streaming: r.Plan.Target.Streaming || r.Streams,
		EndedOnly: r.Plan.Policies.EndedOnly, NearestRank: r.Plan.Policies.NearestRank,
	}
}
