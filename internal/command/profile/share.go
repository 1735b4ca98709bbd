package profile

import (
	"context"
	"errors"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/segment"
)

// share is a worker's share of the load of `redline profile`, or of a search with its traffic.
type share struct {
	run.Load
	traffic traffic.Traffic
	sigs    *command.Signals
}

// OpenShare prepares a worker's share of a job. hard cuts requests in flight.
func OpenShare(hard context.Context, p *command.IO, job *fleet.Job, collect run.Collect) (run.Load, error) {
	pl, err := job.Plan.Restore(job.Secrets, p.Getenv)
	if err != nil {
		return nil, err
	}
	pl.CollectSecrets(p.Secrets)
	if pl, err = plan.New(*pl); err != nil {
		return nil, err
	}
	if why := NeedsNative(pl); why != "" {
		return nil, errors.New(why + ": workers cannot do that")
	}
	part := segment.Segment{Index: job.Index, Of: job.Of}
	sigs := p.Until(hard)
	s := &share{sigs: sigs, traffic: traffic.Traffic{IO: p.Silenced(), Sigs: sigs, Plan: pl.With(func(pl *plan.Plan) { pl.Segment = part })}}
	t := &s.traffic
	open := func() (err error) {
		s.Load, err = t.Runner().Open(hard, collect)
		return err
	}
	if err := command.InOrder(t.CheckLimits, t.Describe, t.Check, t.Load, t.Stage, open); err != nil {
		err = errors.New(t.Advise(err))
		s.leave()
		return nil, err
	}
	return s, nil
}

// Begin implements run.Load.
func (s *share) Begin(ctx context.Context, o run.Order) error {
	if o.Level == nil {
		return errors.New("the request has no level")
	}
	return s.Load.Begin(ctx, o)
}

// Close ends the connections.
func (s *share) Close() error {
	err := s.Load.Close()
	s.leave()
	return err
}

func (s *share) leave() {
	s.traffic.Close()
	s.sigs.Stop()
}
