package profile

import (
	"context"
	"errors"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/segment"
)

// Share is a worker's share of a run of `redline profile`, or of a search with its traffic.
type Share struct {
	*profile.Share
	traffic traffic.Traffic
	sigs    *command.Signals
}

var _ fleet.Maker = (*Share)(nil)

// OpenShare prepares a worker's share of a job. hard cuts requests in flight.
func OpenShare(hard context.Context, p *command.IO, job *fleet.Job, collect fleet.Collect) (*Share, error) {
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
	s := &Share{sigs: sigs, traffic: traffic.Traffic{IO: p.Silenced(), Sigs: sigs, Plan: pl.With(func(pl *plan.Plan) { pl.Segment = part })}}
	t := &s.traffic
	open := func() (err error) {
		s.Share, err = profile.OpenShare(hard, t.Runner(), collect)
		return err
	}
	if err := command.InOrder(t.CheckLimits, t.Describe, t.Check, t.Load, t.Stage, open); err != nil {
		err = errors.New(t.Advise(err))
		s.leave()
		return nil, err
	}
	return s, nil
}

// Start implements fleet.Maker.
func (s *Share) Start(ctx context.Context, o fleet.Order, begin func(context.Context) (int64, error)) error {
	if o.Level == nil {
		return errors.New("the request has no level")
	}
	return s.Share.Start(ctx, *o.Level, o.Limit, o.Seed, begin)
}

// Close ends the connections.
func (s *Share) Close() error {
	err := s.Share.Close()
	s.leave()
	return err
}

func (s *Share) leave() {
	s.traffic.Close()
	s.sigs.Stop()
}
