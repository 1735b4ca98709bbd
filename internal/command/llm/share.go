package llm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/segment"
)

// Share is a worker's share of a run of `redline llm`, or of a search with its traffic.
type Share struct {
	*load.Share
	traffic traffic
}

var _ fleet.Maker = (*Share)(nil)

// OpenShare prepares a worker's share of a job. hard cuts requests in flight.
func OpenShare(hard context.Context, p *command.IO, job *fleet.Job, collect fleet.Collect) (*Share, error) {
	var own Plan
	if err := json.Unmarshal(job.Own, &own); err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	for _, path := range own.paths() {
		*path = job.Path(*path)
	}
	text, err := json.Marshal(&own)
	if err != nil {
		return nil, err
	}
	read, err := readAgain(text, job.Secrets, p.Secrets)
	if err != nil {
		return nil, err
	}
	s := &Share{traffic: read}
	if job.Command == searchCommand {
		s.traffic.search()
	}
	t := &s.traffic
	t.IO, t.sigs, t.load.Segment = p.Silenced(), p.Until(hard), segment.Segment{Index: job.Index, Of: job.Of}
	open := func() (err error) {
		s.Share, err = load.OpenShare(hard, t.levelConfig(0, load.Level{}), collect)
		return err
	}
	if err := command.InOrder(t.start, open); err != nil {
		err = t.advised(err)
		s.leave()
		return nil, err
	}
	return s, nil
}

// Start implements fleet.Maker.
func (s *Share) Start(ctx context.Context, o fleet.Order, begin func(context.Context) (int64, error)) error {
	var phase phaseOrder
	if err := json.Unmarshal(o.Phase, &phase); err != nil {
		return fmt.Errorf("read the phase of the load: %w", err)
	}
	t := &s.traffic
	if lv := phase.Load; lv != nil {
		return s.Share.Start(ctx, t.probeConfig(phase.Repeat), *lv, false, begin)
	}
	steps := t.opts.steps(t.timed)
	if phase.Step < 0 || phase.Step >= len(steps) {
		return fmt.Errorf("the load has %d levels, and level %d was asked for", len(steps), phase.Step+1)
	}
	step := steps[phase.Step]
	if err := t.choose(&step); err != nil {
		return err
	}
	cfg := t.levelConfig(phase.Repeat, step.Level)
	cfg.KeepText, cfg.KeepWire, cfg.KeepBodies = phase.Text, phase.Wire, phase.Bodies
	return s.Share.Start(ctx, cfg, step.Level, phase.Warmup, begin)
}

// Close ends the connections.
func (s *Share) Close() error {
	err := s.Share.Close()
	s.leave()
	return err
}

func (s *Share) leave() {
	s.traffic.close()
	s.traffic.sigs.Stop()
}
