package calibration

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/calibrate/standin"
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
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

	lastID atomic.Uint64
	seen   map[string][]calibrate.Exchange // by level, of all windows but the first
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
	res, err := c.send(server)
	server.Stop() // which completes the log
	if err != nil {
		return nil, err
	}
	return c.compare(res, log, server.CPU())
}

// serverArgs are the options of the server.
func (c *paceRun) serverArgs(log string) []string {
	hold := c.hold.String()
	args := []string{"--request-log", log}
	switch t := &c.plan.Target; t.Kind {
	case plan.OpenAI:
		args = append(args, "--ttft", hold, "--itl", "0s")
	case plan.TorchServe:
		args = append(args, "--delay", "torchserve="+hold)
	default:
		args = append(args, "--delay", t.Model+"="+hold)
	}
	if c.ca != "" {
		args = append(args, "--tls-cert", c.ca, "--tls-key", c.ca)
	}
	if c.model.Dir != "" {
		args = append(args, "--model-repository", c.model.Dir)
	}
	return args
}

// send makes the load.
func (c *paceRun) send(server *command.Embedded) (*result.Result, error) {
	pl := *c.plan
	floorTarget(&pl, server, c.ca)
	shorten(&pl)
	s := &traffic.Traffic{IO: c.Silenced(), Plan: &pl, Sigs: c.sigs}
	defer s.Close()
	setScheduler := func() error {
		if c.model.Spec != nil { // the stand-in has no sequences, but the requests carry their parameters
			s.Model.Scheduler = c.model.Spec.Scheduler
		}
		return nil
	}
	for _, step := range []func() error{s.CheckLimits, s.Describe, setScheduler, s.Check, s.LoadUnchecked, s.Stage} {
		if err := step(); err != nil {
			return nil, errors.New(s.Advise(err))
		}
	}
	feed := s.Feed()
	c.seen = map[string][]calibrate.Exchange{}
	runner := &profile.Runner{
		Plan: s.Plan, Service: s.Service, Model: s.Model, Async: s.Async, Observer: silent{}, Times: s.Data.Times(), Streams: target.Streams(pl.Target.Kind), Tap: c.keep,
		Feed: func(slot, active int) engine.Feed { return &numbered{feed(slot, active), &c.lastID} },
	}
	res, err := runner.Run(c.sigs.Soft, c.sigs.Hard)
	switch {
	case errors.Is(err, profile.ErrUnstable):
		err = nil
	case errors.Is(err, profile.ErrNoRequests):
		err = errBusy
	}
	return res, err
}

// numbered gives each request an id that is sent with it and that its record keeps.
type numbered struct {
	engine.Feed
	last *atomic.Uint64
}

// Next implements engine.Feed.
func (f *numbered) Next(call *service.Call) {
	f.Feed.Next(call)
	id := f.last.Add(1)
	call.Vars.ID, call.Vars.HasID, call.Rec.SeqID = id, true, id
}

// keep is the run's Tap. The first window is the warm-up.
func (c *paceRun) keep(lv *result.Level, window int, r *record.Record) error {
	if window > 0 && r.Class == record.OK {
		at := levelKey(lv)
		c.seen[at] = append(c.seen[at], calibrate.Exchange{ID: r.SeqID, From: clock.Wall(r.Sent), To: clock.Wall(r.End)})
	}
	return nil
}

func levelKey(lv *result.Level) string {
	return calibrate.Traffic{Concurrency: lv.Concurrency, Rate: lv.Rate}.Load()
}

// compare holds the client's times against the log.
func (c *paceRun) compare(res *result.Result, log string, serverCPU time.Duration) ([]calibrate.Floor, error) {
	lines, err := (&calibrate.Log{Path: log}).Read()
	if err != nil {
		return nil, err
	}
	served, named := calibrate.Exchanges(lines)
	var wall time.Duration
	for i := range res.Levels {
		for _, w := range res.Levels[i].Windows {
			wall += time.Duration(w.Client.DurationNs)
		}
	}
	serverCores := serverCPU.Seconds() / max(wall.Seconds(), 1e-3)
	var floors []calibrate.Floor
	for i := range res.Levels {
		lv := &res.Levels[i]
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
