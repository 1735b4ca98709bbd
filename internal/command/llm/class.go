package llm

import (
	"context"
	"errors"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/class"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/traceid"
)

// Class is a run of `redline llm` as a traffic class of a scenario.
type Class struct{ session }

var _ class.Class = (*Class)(nil)

// ParseClass reads the options of a class, which workers of the fleet make, if there are any. alone: no other class runs beside it, so it
// may have several levels.
func ParseClass(p *command.IO, sigs *command.Signals, args []string, workers plan.Fleet, alone bool) (*Class, error) {
	t, err := read(args, p.Secrets)
	if err == nil && workers.Workers != "" {
		var faults plan.Faults
		t.opts = t.opts.with(func(p *Plan) { p.Fleet = workers })
		t.opts.checkFleet(&faults)
		err = faults.Err()
	}
	switch {
	case err != nil:
		return nil, err
	case !alone && len(t.opts.Concurrency) > 1:
		return nil, errors.New("--concurrency has several levels: a class beside others has one")
	case !alone && len(t.opts.Rates) > 1:
		return nil, errors.New("--request-rate has several levels: a class beside others has one")
	case !alone && t.opts.several():
		return nil, errors.New("--isl, --osl or --num-conversations has several levels: a class beside others has one")
	case !alone && t.opts.Calibrate:
		return nil, errors.New("--calibrate cannot be used in a class beside others")
	}
	t.IO, t.sigs = p, sigs
	return &Class{session: session{traffic: t}}, nil
}

// Outside are the options that a class cannot have.
func Outside() []string { return class.Outside() }

// Options implements class.Class.
func (c *Class) Options() []string { return c.table.Arguments() }

// Sample implements class.Class.
func (c *Class) Sample() *gate.Sample { return c.opts.sample(c.load.Goodput) }

// Prepare implements class.Class.
func (c *Class) Prepare(tracing *traceid.Sampler) error {
	c.tracing = tracing
	if err := c.start(); err != nil {
		return c.advised(err)
	}
	return nil
}

// Server implements class.Class.
func (c *Class) Server() outcome.Server { return c.watched() }

// Work implements class.Class.
func (c *Class) Work() (fleet.Work, error) {
	task, err := c.task()
	return fleet.Work{Command: "llm", Task: task}, err
}

// UseWorkers implements class.Class.
func (c *Class) UseWorkers(workers *fleet.Run) { c.workers.run = workers }

// FirstRequest implements class.Class.
func (c *Class) FirstRequest(ctx context.Context) ([]byte, error) {
	return load.FirstRequest(ctx, c.config(0))
}

// Measure implements class.Class.
func (c *Class) Measure(t class.Together) class.Outcome {
	c.together = &t
	c.open()
	c.head()
	limits, stopped, err := c.measureLevels()
	c.conclude(limits, stopped, err)
	c.res.Workload = c.hash
	out := class.Outcome{Result: c.res}
	switch why := c.problem(stopped, err); {
	case c.res.Interrupted:
		out.Code = command.ExitInterrupted
	case why != nil:
		out.Code, out.Err = command.ExitError, c.advised(why)
	case c.lost != nil:
		out.Code, out.Err = command.ExitError, c.lost
	}
	return out
}

// Close implements class.Class.
func (c *Class) Close() { c.close() }

// enter begins a phase of the process. The phases of a scenario are those of all its classes.
func (r *session) enter(p command.Phase) {
	if r.together == nil {
		r.sigs.Enter(p)
	}
}
