package profile

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/service"
)

// StatsError means that the server's counters could not be read or made no sense.
type StatsError struct{ Err error }

func (e *StatsError) Error() string { return e.Err.Error() }
func (e *StatsError) Unwrap() error { return e.Err }

// stats reads the server's counters; nil when it has none.
func (r *Runner) stats(ctx context.Context) ([]service.ModelStats, error) {
	reader, ok := r.Service.(service.StatsReader)
	if !ok || !r.Model.Statistics {
		return nil, nil
	}
	s, err := reader.Stats(ctx)
	if err != nil {
		return nil, r.statsFailed(err)
	}
	return s, nil
}

// statsFailed ends a run that needs the server's statistics; others go on without them.
func (r *Runner) statsFailed(err error) error {
	if r.Plan.Policies.NeedStatistics {
		return &StatsError{err}
	}
	r.Observer.Warn(Warning{Kind: StatisticsFailed, Text: err.Error(), Model: r.Model.Name})
	return nil
}

// closeServer reads the counters at the end of a window. Where the load itself has failed they are of no use.
func (m *levelRun) closeServer(ctx context.Context, p *pass, cause error) error {
	if p.statsMissing || errors.As(cause, new(*LoadError)) {
		p.statsMissing = true
		return nil
	}
	s, err := m.statsAtEnd(ctx, p)
	p.serverTo, p.statsMissing = s, s == nil
	return err
}

func (m *levelRun) statsAtEnd(ctx context.Context, p *pass) ([]service.ModelStats, error) {
	if p.serverAtEnd != nil {
		select {
		case r := <-p.serverAtEnd:
			return r.stats, r.err
		default: // the window was closed early
		}
	}
	ctx, cancel := graceAfter(ctx, statsGrace)
	defer cancel()
	return m.stats(ctx)
}

// serverReading is one reading of the server's counters.
type serverReading struct {
	stats []service.ModelStats
	err   error
}

// readServerInTime reads the server's counters when the window ends. The windows of a fleet are closed a moment later, when the
// records of all workers have come.
func (m *levelRun) readServerInTime(ctx context.Context, p *pass) {
	if m.Fleet == nil || p.until == math.MaxInt64 || p.statsMissing {
		return
	}
	p.serverAtEnd = make(chan serverReading, 1)
	go func() {
		if !clock.Sleep(ctx, time.Duration(p.until-clock.Now())) {
			return
		}
		s, err := m.stats(ctx)
		p.serverAtEnd <- serverReading{s, err}
	}()
}

// statsGrace is how long the server may take for its counters after an interrupt.
const statsGrace = 2 * time.Second

// graceAfter makes a context that ends some time after its parent does.
func graceAfter(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(d, cancel) })
	return ctx, func() { stop(); cancel() }
}

// serverWindow is what the server counted in one window, or nil where it counted nothing: a request that ends at
// the edge may be the client's in one window and the server's in another.
func (m *levelRun) serverWindow(p *pass) *result.Server {
	if p.statsMissing {
		return nil
	}
	s, _, err := measure.ServerDelta(m.Model, p.serverFrom, p.serverTo)
	if err != nil {
		return nil
	}
	return s
}

// serverLevel is what the server counted over all used windows.
func (m *levelRun) serverLevel(used []*pass) error {
	last := used[len(used)-1]
	if last.statsMissing || m.lv.Client.Requests == 0 {
		return nil
	}
	s, several, err := measure.ServerDelta(m.Model, used[0].serverFrom, last.serverTo)
	if err != nil {
		return m.statsFailed(err)
	}
	for _, name := range several {
		m.Observer.Warn(Warning{Kind: SeveralVersions, Model: name})
	}
	m.lv.Server = s
	return nil
}
