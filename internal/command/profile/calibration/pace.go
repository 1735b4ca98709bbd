package calibration

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/calibrate/standin"
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/service"
)

// paceRun sends the traffic of a plan to a reference server of our own, which holds each answer for a time and logs when it
// received and answered each request.
type paceRun struct {
	*command.IO
	sigs  *command.Signals
	plan  *plan.Plan // of the user's run, with the levels to visit
	model *standin.Model
	ca    string // certificate of the server, or ""
	hold  time.Duration
	// pauses is the factor by which pauses between the turns of a session are shortened.
	pauses float64
	// own has the requests to send, where only the run's own server could tell their form; nil: they are prepared anew.
	own *traffic.Traffic

	lastID atomic.Uint64
	seen   map[string][]calibrate.Exchange // by level, of all windows but the warm-up
}

// errBusy means that a window had no request, which the reference server does not cause.
var errBusy = errors.New("this machine is too busy to calibrate: no request ended within a window; try again when it is quiet")

// floors measures the error at each level of the plan.
func (c *paceRun) floors() ([]calibrate.Floor, error) {
	dir, err := os.MkdirTemp("", "redline-calibrate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	log := filepath.Join(dir, "log.jsonl")
	server, err := command.StartEmbedded(c.sigs.Soft, c.Silenced(), c.serverArgs(log))
	if err != nil {
		return nil, err
	}
	levels, err := c.send(server)
	server.Stop() // which completes the log
	if err != nil {
		return nil, err
	}
	return c.compare(levels, log, server.CPU())
}

// serverArgs are the options of the server.
func (c *paceRun) serverArgs(log string) []string {
	t := &c.plan.Target
	row := kind.Of(t.Kind)
	args := append([]string{"--request-log", log}, row.Reference.Hold(t.Model, c.hold)...)
	if row.Method {
		args = append(args, "--any-method", strconv.Itoa(c.model.MethodBytes))
	}
	if c.ca != "" {
		args = append(args, "--tls-cert", c.ca, "--tls-key", c.ca)
	}
	if c.model.Dir != "" {
		args = append(args, "--model-repository", c.model.Dir)
	}
	return args
}

// send makes the load and returns its levels.
func (c *paceRun) send(server *command.Embedded) ([]result.Level, error) {
	pl := *c.plan
	floorTarget(&pl, server, c.ca)
	if spec := c.model.Spec; spec != nil && spec.Unconfigured {
		pl.Target.Extensions = plan.NoExtensions // so that the requests are those of the run
	}
	shorten(&pl)
	s := &traffic.Traffic{IO: c.Silenced(), Plan: &pl, Sigs: c.sigs}
	defer s.Close()
	setScheduler := func() error {
		if c.model.Spec != nil { // the stand-in has no sequences, but the requests carry their parameters
			s.Model.Scheduler = c.model.Spec.Scheduler
		}
		return nil
	}
	load := func() error {
		if c.own == nil {
			return s.LoadUnchecked()
		}
		s.Data, s.Requests = c.own.Data, c.own.Requests
		return nil
	}
	if err := command.InOrder(s.CheckLimits, s.Describe, setScheduler, s.Check, load, s.Stage); err != nil {
		return nil, errors.New(s.Advise(err))
	}
	c.seen = map[string][]calibrate.Exchange{}
	runner := s.Runner()
	runner.Observer, runner.Tap = silent{}, c.keep
	runner.Source, runner.Times = c.source(runner.Source), fromZero(runner.Times, pl.Measure.WarmupCount)
	var watch *Watch
	if pl.Load.Mode == plan.PeriodicConcurrency {
		runner.Exporter, watch = Watched(&pl, keeper{c})
	}
	return c.run(runner, watch)
}

// run carries the load out. One that is calibrated as a whole is ended when it takes too long.
func (c *paceRun) run(runner *profile.Runner, watch *Watch) ([]result.Level, error) {
	ctx, cancel := context.WithCancel(c.sigs.Soft)
	defer cancel()
	if whole(&c.plan.Load) {
		defer time.AfterFunc(floorEnd, cancel).Stop()
	}
	res, err := runner.Run(ctx, c.sigs.Hard)
	switch {
	case errors.Is(err, profile.ErrUnstable), errors.Is(err, run.ErrInterrupted) && c.sigs.Soft.Err() == nil:
		err = nil
	case errors.Is(err, profile.ErrNoRequests):
		err = errBusy
	}
	return watch.Levels(res), err
}

// source is the source of requests with what a calibration adds: ids, and shorter pauses in sessions.
func (c *paceRun) source(from func(slot, active int) engine.Source) func(slot, active int) engine.Source {
	return func(slot, active int) engine.Source {
		f := from(slot, active)
		if session, ok := f.(engine.Listener); ok {
			return &brisk{session, c.pauses}
		}
		return &numbered{f, &c.lastID}
	}
}

// fromZero shifts the due times of a schedule so that the first of the warm-up and the first after it are 0.
func fromZero(times []time.Duration, warmup int) []time.Duration {
	out := slices.Clone(times)
	warmup = min(warmup, len(out))
	for _, part := range [][]time.Duration{out[:warmup], out[warmup:]} {
		if len(part) == 0 {
			continue
		}
		first := part[0]
		for i := range part {
			part[i] -= first
		}
	}
	return out
}

// brisk is a session with shorter pauses between its turns.
type brisk struct {
	engine.Listener
	factor float64
}

// Pause implements engine.Listener.
func (b *brisk) Pause() (time.Duration, bool) {
	wait, ok := b.Listener.Pause()
	return time.Duration(float64(wait) * b.factor), ok
}

// numbered gives each request an id that is sent with it and that its record keeps.
type numbered struct {
	engine.Source
	last *atomic.Uint64
}

// Next implements engine.Source.
func (f *numbered) Next(call *service.Call) {
	f.Source.Next(call)
	id := f.last.Add(1)
	call.Vars.ID, call.Vars.HasID, call.Rec.SeqID = id, true, id
}

// keep is the run's Tap. The first of several windows is the warm-up.
func (c *paceRun) keep(lv *result.Level, window int, r *record.Record) error {
	if (window > 0 || whole(&c.plan.Load)) && r.Class == record.OK {
		at := levelKey(lv)
		c.seen[at] = append(c.seen[at], calibrate.Exchange{ID: r.SeqID, From: clock.Wall(r.Sent), To: clock.Wall(r.End)})
	}
	return nil
}

func levelKey(lv *result.Level) string {
	return calibrate.Traffic{Concurrency: lv.Concurrency, Rate: lv.Rate}.Load()
}

// compare holds the client's times against the log.
func (c *paceRun) compare(levels []result.Level, log string, serverCPU time.Duration) ([]calibrate.Floor, error) {
	lines, err := (&calibrate.Log{Path: log}).Read()
	if err != nil {
		return nil, err
	}
	served, named := calibrate.Exchanges(lines)
	named = named && c.plan.Target.Kind == plan.Triton // ids of the other kinds are the server's own numbers
	var wall time.Duration
	for i := range levels {
		for _, w := range levels[i].Windows {
			wall += time.Duration(w.Client.DurationNs)
		}
	}
	serverCores := serverCPU.Seconds() / max(wall.Seconds(), 1e-3)
	var floors []calibrate.Floor
	for i := range levels {
		lv := &levels[i]
		late := calibrate.Errors(c.seen[levelKey(lv)], served, named)
		if len(late) == 0 {
			continue
		}
		sum, h := calibrate.Summarize(late), &lv.Health
		floors = append(floors, calibrate.Floor{
			Traffic: trafficOf(c.plan, lv), P50Ns: sum.P50Ns, P99Ns: sum.P99Ns, AtLeast: sum.AtLeast, Requests: len(late), CPUNs: h.CPUPerRequestNs,
			Busy: h.MachineShare, Foreign: max(0, h.MachineShare*float64(runtime.NumCPU())-h.CPUCores-serverCores),
			When: time.Now().UTC().Truncate(time.Second),
		})
	}
	if len(floors) == 0 {
		return nil, errors.New("no request was answered")
	}
	return floors, nil
}

// silent is an observer that says nothing.
type silent struct{}

func (silent) LevelBegins(*result.Level, bool) {}
func (silent) Pass(int, *result.Window)        {}
func (silent) LevelEnds(*result.Level)         {}
func (silent) RanksStable()                    {}
func (silent) Progress(profile.Progress)       {}
func (silent) Warn(profile.Warning)            {}
