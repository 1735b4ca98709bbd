package profile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/class"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/command/profile/calibration"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/traceid"
)

// Class is a plan as a traffic class of a scenario.
type Class struct {
	traffic.Traffic
	options []string
	alone   bool // no other class runs beside it
	fleet   workers
}

var _ class.Class = (*Class)(nil)

// ParseClass reads the options of a class, which has the outcome, the result file and the workers of the whole run. alone: no other class
// runs beside it, so it may have several levels.
func ParseClass(p *command.IO, sigs *command.Signals, args []string, whole *plan.Plan, alone bool) (*Class, error) {
	pl, notes, err := flags.Parse(flags.Redline, args, p.Secrets)
	if err != nil {
		return nil, err
	}
	if pl.Load.MPI {
		return nil, errors.New("--enable-mpi cannot be used in a scenario")
	}
	if why := NeedsNative(pl); why != "" && !p.Native {
		return nil, command.NativeError(why)
	}
	for _, w := range notes.Warnings {
		fmt.Fprintln(p.Stderr, w)
	}
	if !alone {
		if err := oneLevel(pl); err != nil {
			return nil, err
		}
	}
	pl = pl.With(func(c *plan.Plan) {
		c.Outcome, c.Output.ResultJSON, c.Fleet = whole.Outcome, whole.Output.ResultJSON, whole.Fleet
	})
	if pl.Fleet.Workers != "" {
		if err := Alone(pl); err != nil {
			return nil, err
		}
	}
	return &Class{Traffic: traffic.Traffic{IO: p, Plan: pl, Sigs: sigs}, options: notes.Options, alone: alone}, nil
}

// oneLevel refuses a plan that does not have one level with an end: classes start together, and each knows when it is over.
func oneLevel(p *plan.Plan) error {
	load, m := &p.Load, &p.Measure
	switch {
	case load.Several() && load.Mode == plan.Concurrency:
		return errors.New("--concurrency-range has several levels: a class beside others has one")
	case load.Several():
		return errors.New("--request-rate-range has several levels: a class beside others has one")
	case load.Mode == plan.PeriodicConcurrency:
		return errors.New("--periodic-concurrency-range cannot be used in a scenario")
	case m.Calibrate:
		return errors.New("--calibrate cannot be used in a class beside others")
	case m.RequestCount == 0 && len(load.Stages) == 0 && !m.OneWindow && load.Mode != plan.SessionConcurrency && load.Mode != plan.FixedSchedule:
		return errors.New("a class beside others needs its length: add duration or request-count, or give it a rate in the scenario")
	}
	return nil
}

// Outside are the options that a class cannot have.
func Outside() []string {
	return class.Outside("-f", "--verbose-csv", "--profile-export-file", "--version")
}

// Options implements class.Class.
func (c *Class) Options() []string { return c.options }

// Sample implements class.Class.
func (c *Class) Sample() *gate.Sample { return sample(c.Plan) }

// Prepare implements class.Class.
func (c *Class) Prepare(tracing *traceid.Sampler) error {
	c.Plan = c.Plan.With(func(p *plan.Plan) { p.Target.Tracing = tracing })
	if err := command.InOrder(c.checkLimits, c.StartServer, c.Describe, c.Check, c.Load, c.Stage); err != nil {
		return errors.New(c.Advise(err))
	}
	return nil
}

// checkLimits looks at the connections of this machine. If workers make them, it puts this machine's values in the place of references.
func (c *Class) checkLimits() error {
	if c.Plan.Fleet.Workers == "" {
		return c.CheckLimits()
	}
	c.fleet.shipped = c.Plan
	return c.fleet.resolve(&c.Traffic)
}

// Work implements class.Class.
func (c *Class) Work() (fleet.Work, error) {
	return fleet.Work{Command: "profile", Plan: c.fleet.plan(&c.Traffic)}, nil
}

// UseWorkers implements class.Class.
func (c *Class) UseWorkers(workers *fleet.Run) { c.fleet.run = workers }

// Server implements class.Class.
func (c *Class) Server() outcome.Server {
	return outcome.Server{Model: c.Plan.Target.Model, Own: c.MetricsPages()}
}

// FirstRequest implements class.Class.
func (c *Class) FirstRequest(ctx context.Context) ([]byte, error) {
	if c.Sessions != nil {
		return nil, errors.New("requests of --session-concurrency depend on the answers before them")
	}
	call := &service.Call{}
	c.Source()(0, 1).Next(call)
	return service.Preview(ctx, c.Service, call)
}

// Measure implements class.Class.
func (c *Class) Measure(t class.Together) class.Outcome {
	runner := c.Runner()
	runner.Observer, runner.Floor, runner.Timeline = &classWatcher{Class: c, together: t}, calibration.Stated(&c.Traffic), true
	runner.Tap, runner.Ready, runner.Class = t.Tap(c.Plan.Measure.FromSend), t.Ready, t.Name
	c.fleet.use(runner)
	target := &c.Plan.Target
	fmt.Fprintf(c.Stdout, "%s at %s, %s\n", c.Model.Name, secret.PublicURL(target.URL), strings.TrimSpace(string(target.Kind)+" "+string(target.Protocol)))
	res, err := runner.Run(c.Sigs.Soft, c.Sigs.Hard)
	if c.alone && c.fleet.run == nil && (err == nil || errors.Is(err, profile.ErrUnstable)) {
		calibration.AfterRun(&c.Traffic, (*calibration.Watch)(nil).Levels(res))
	}
	res.Options, res.Workload = c.options, c.Fingerprint()
	out := class.Outcome{Result: res, Code: exitCode(err)}
	switch {
	case res.Verdict.State == result.ServerFailed:
		out.Code, out.Err = command.ExitError, errors.New("too many requests failed, see the verdict; --max-error-rate PCT allows more")
	case errors.Is(err, profile.ErrNoRequests):
		out.Err = errors.New("no request ended within the time")
	case out.Code == command.ExitError:
		out.Err = errors.New(c.Advise(err))
	}
	return out
}

// classWatcher prints the level of a class when it is over.
type classWatcher struct {
	*Class
	together class.Together
	warmup   bool
}

// LevelBegins implements profile.Observer.
func (w *classWatcher) LevelBegins(_ *result.Level, warmup bool) { w.warmup = warmup }

// Pass implements profile.Observer.
func (w *classWatcher) Pass(int, *result.Window) {}

// LevelEnds implements profile.Observer.
func (w *classWatcher) LevelEnds(lv *result.Level) {
	if w.together.LevelEnds != nil {
		w.together.LevelEnds(lv)
	}
	w.Console.Header(lv)
	if lv.Idle {
		w.WriteIdle()
		return
	}
	if lv.Client.Requests > 0 {
		w.Console.Level(lv)
	}
	report.Health(w.Stdout, lv, w.Style())
}

// RanksStable implements profile.Observer.
func (w *classWatcher) RanksStable() {}

// Progress implements profile.Observer.
func (w *classWatcher) Progress(p profile.Progress) {
	w.together.Progress(class.Progress{
		Level: p.Level, Warmup: w.warmup, Elapsed: p.Elapsed, Requests: p.Requests, Failed: p.Failed, InFlight: p.InFlight, Rate: p.Rate,
	})
}

// Warn implements profile.Observer.
func (w *classWatcher) Warn(warning profile.Warning) { warnPlainly(w.Console, warning) }
