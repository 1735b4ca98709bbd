package profile

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/coordinator"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/service"
)

// Alone names the first option of a plan that workers of a fleet cannot do; empty if they can do all.
func Alone(p *plan.Plan) error {
	with := func(what string) error { return fmt.Errorf("%s cannot be used with --workers", what) }
	switch load, m := &p.Load, &p.Measure; {
	case load.Mode == plan.PeriodicConcurrency:
		return with("--periodic-concurrency-range")
	case load.MPI:
		return with("--enable-mpi")
	case m.Calibrate:
		return errors.New("--calibrate measures this machine's error, not that of the workers: leave it out, or --workers")
	case p.Output.Export != "":
		return errors.New("--profile-export-file cannot be used with --workers; --records writes every request of all workers")
	case p.Outcome.TraceRequests > 0:
		return with("--trace-requests")
	case p.Input.SharedMemory != plan.NoSharedMemory:
		return with("--shared-memory")
	case !p.Segment.Whole():
		return errors.New("--segment is one part of a load that you divide yourself; leave it out, --workers divides the load")
	case NeedsNative(p) != "":
		return with("this service kind or memory (" + NeedsNative(p) + ")")
	}
	return nil
}

// workers are the workers of a run; the zero value is a run without workers.
type workers struct {
	bus *coordinator.Bus
	run *fleet.Run
	// shipped is the plan for the workers: values that refer to the environment are theirs.
	shipped *plan.Plan
	// keep leaves what NATS has of the run when it ends: the run was taken up, and its result is not written yet.
	keep bool
}

// connect connects to NATS and puts this machine's values in the place of references. It does nothing without --workers.
func (m *workers) connect(t *traffic.Traffic) error {
	if t.Plan.Fleet.Workers == "" || m.bus != nil {
		return nil
	}
	if err := Alone(t.Plan); err != nil {
		return err
	}
	f, err := coordinator.Named(t.Plan.Fleet)
	if err != nil {
		return err
	}
	m.bus, err = coordinator.Open(t.Sigs.Soft, t.IO, f.NATS)
	if err != nil {
		return err
	}
	m.shipped = t.Plan.With(func(p *plan.Plan) { p.Fleet = f })
	return m.resolve(t)
}

// resolve puts this machine's values in the place of references.
func (m *workers) resolve(t *traffic.Traffic) error {
	own, err := m.shipped.Restore(nil, t.Getenv)
	if err != nil {
		return err
	}
	own.CollectSecrets(t.Secrets)
	t.Plan, err = plan.New(*own)
	return err
}

// plan is the plan for the workers. The address of the embedded server is known by now.
func (m *workers) plan(t *traffic.Traffic) *plan.Plan {
	address := t.Plan.Target.URL
	return m.shipped.With(func(p *plan.Plan) {
		if p.Target.Embedded {
			p.Target.URL = address
		}
	})
}

// gather has the workers prepare.
func (m *workers) gather(t *traffic.Traffic, command, line string) (err error) {
	if m.bus == nil {
		return nil
	}
	shipped := m.plan(t)
	if m.run != nil {
		return m.run.Resume(t.Sigs.Soft, shipped.Fleet, shipped, nil)
	}
	m.run, err = fleet.Gather(t.Sigs.Soft, m.bus.Bus, coordinator.Config(t.IO, fleet.Config{Fleet: shipped.Fleet, Command: command, Line: line, Plan: shipped}))
	return err
}

// use has the workers make the load of a runner. It does nothing without --workers.
func (m *workers) use(r *profile.Runner) {
	if m.run != nil {
		r.Fleet, r.Ended, r.Floor = m.run.Open, m.run.Ended, nil
	}
}

// TakeUp goes on with a run whose coordinator is gone.
func TakeUp(p *command.IO, sigs *command.Signals, pl *plan.Plan, line string, bus *coordinator.Bus, load *fleet.Run) (int, error) {
	s := newSession(p, sigs, pl, "redline profile", line)
	s.fleet = workers{bus: bus, run: load, shipped: pl, keep: true}
	defer s.close()
	if err := s.fleet.resolve(&s.Traffic); err != nil {
		return 0, err
	}
	return s.run(), nil
}

// Collect reports what a run had measured whose coordinator is gone.
func Collect(p *command.IO, sigs *command.Signals, pl *plan.Plan, line string, bus *coordinator.Bus, load *fleet.Run) (int, error) {
	s := newSession(p, sigs, pl, "redline profile", line)
	s.fleet = workers{bus: bus, run: load, shipped: pl, keep: true}
	defer s.close()
	if err := s.openOutcome(); err != nil {
		return 0, err
	}
	s.Console = &text.Console{Out: s.Stdout, Err: s.Stderr, Plan: s.Plan, Model: &service.Model{Name: pl.Target.Model}, Async: true}
	s.Model = &service.Model{Name: pl.Target.Model}
	runner := &profile.Runner{Plan: s.Plan, Model: s.Model, Async: true, Observer: &watcher{s}, Timeline: true, Tap: s.outcome.Tap(s.Plan.Measure.FromSend), Known: load.Known()}
	s.outcome.Begin(s.Plan)
	res, err := runner.Collect(func(each func(*record.Record)) error {
		return load.Leftover(func(rec *record.Record, _ []byte) { each(rec) })
	})
	res.Tool, res.Version, res.Fleet = "redline", s.Version, load.Result()
	if err != nil {
		return 0, err
	}
	return s.finish(res, run.ErrInterrupted), nil
}

// close lets the workers go, and removes what NATS has of the run unless it is kept.
func (m *workers) close() {
	m.bus.Leave(m.run, m.keep)
	m.bus.Close()
}
