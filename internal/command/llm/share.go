package llm

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/segment"
)

// share is a worker's share of the load of `redline llm`, or of a search with its traffic.
type share struct {
	*load.Share
	traffic traffic
}

// OpenShare prepares a worker's share of a job. hard cuts requests in flight.
func OpenShare(hard context.Context, p *command.IO, job *fleet.Job, collect run.Collect) (run.Load, error) {
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
	s := &share{traffic: read}
	if job.Command == searchCommand {
		s.traffic.search()
	}
	t := &s.traffic
	t.IO, t.sigs, t.load.Segment = p.Silenced(), p.Until(hard), segment.Segment{Index: job.Index, Of: job.Of}
	open := func() (err error) {
		s.Share, err = load.OpenShare(hard, t.levelConfig(0, load.Level{}), t.part, collect)
		return err
	}
	if err := command.InOrder(t.start, open); err != nil {
		err = t.advised(err)
		s.leave()
		return nil, err
	}
	return s, nil
}

// part is what a worker does in a phase that the coordinator orders.
func (r *traffic) part(order json.RawMessage) (load.Part, error) {
	var phase phaseOrder
	if err := json.Unmarshal(order, &phase); err != nil {
		return load.Part{}, fmt.Errorf("read the phase of the load: %w", err)
	}
	if lv := phase.Load; lv != nil {
		return load.Part{Config: r.probeConfig(phase.Repeat), Level: *lv}, nil
	}
	steps := r.opts.steps(r.timed)
	if phase.Step < 0 || phase.Step >= len(steps) {
		return load.Part{}, fmt.Errorf("the load has %d levels, and level %d was asked for", len(steps), phase.Step+1)
	}
	step := steps[phase.Step]
	if err := r.choose(&step); err != nil {
		return load.Part{}, err
	}
	cfg := r.levelConfig(phase.Repeat, step.Level)
	cfg.KeepText, cfg.KeepWire, cfg.KeepBodies = phase.Text, phase.Wire, phase.Bodies
	return load.Part{Config: cfg, Level: step.Level, Warmup: phase.Warmup}, nil
}

// Close ends the connections.
func (s *share) Close() error {
	err := s.Share.Close()
	s.leave()
	return err
}

func (s *share) leave() {
	s.traffic.close()
	s.traffic.sigs.Stop()
}
