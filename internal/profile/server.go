package profile

import (
	"context"
	"errors"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
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

// statsFailed ends the run of the drop-in; our own face goes on without the server's numbers.
func (r *Runner) statsFailed(err error) error {
	if r.Plan.Face == plan.DropIn {
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
	s, err := m.stats(context.WithoutCancel(ctx))
	p.serverTo, p.statsMissing = s, s == nil
	return err
}

func (m *levelRun) serverWindow(p *pass) *result.Server {
	s, several, err := measure.ServerDelta(m.Model, p.serverFrom, p.serverTo)
	if err != nil {
		m.statsErr = errors.Join(m.statsErr, m.statsFailed(err))
		return nil
	}
	for _, name := range several {
		m.Observer.Warn(Warning{Kind: SeveralVersions, Model: name})
	}
	return s
}
