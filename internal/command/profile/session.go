package profile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/command/profile/calibration"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/mpi"
	"github.com/redline-bench/redline/internal/pacompat/export"
	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/servertrace"
)

// session is one run from the plan to the exit code.
type session struct {
	traffic.Traffic
	world   *mpi.World // nil without --enable-mpi
	fleet   workers
	export  *export.Writer
	outcome *outcome.Outcome // nil with a bare report
	name    string           // of the program
	line    string           // the command line without secrets
	result  *result.Result   // nil until the load has ended
	traces  *serverTraces    // nil without --trace-file
}

func (s *session) close() {
	s.outcome.Close()
	s.fleet.close()
	if s.export != nil {
		s.export.Abort() // does nothing after Commit
	}
	s.Traffic.Close()
}

func (s *session) run() int {
	connectFleet := func() error { return s.fleet.connect(&s.Traffic) }
	gather := func() error { return s.fleet.gather(&s.Traffic, "profile", s.line) }
	if err := command.InOrder(s.openOutcome, connectFleet, s.joinRanks, s.checkLimits, s.StartServer, s.Describe, s.Check, s.Load, s.openOutputs, s.Stage, s.connect, gather); err != nil {
		return s.startFailed(err)
	}
	s.DataRead()
	s.showTraffic()
	s.Console.Settings()
	if s.Plan.Target.Trace.File != "" {
		s.traces = &serverTraces{levels: map[string]*servertrace.Slowest{}}
	}
	runner := s.Runner()
	runner.Observer, runner.Floor, runner.Timeline = &watcher{s}, calibration.Stated(&s.Traffic), !s.Plan.Policies.BareReport
	runner.Tap = s.traces.tap(s.outcome.Tap(s.Plan.Measure.FromSend))
	if s.fleet.use(runner); s.fleet.run != nil {
		runner.Known = s.fleet.run.Known()
	}
	s.outcome.Begin(s.Plan)
	var watch *calibration.Watch
	if s.export != nil {
		runner.Exporter, watch = calibration.Watched(s.Plan, s.export)
	}
	if s.world != nil && s.world.Size() > 1 {
		runner.Ranks = s.world
		if err := s.world.Barrier(s.Sigs.Soft); err != nil {
			return s.startFailed(err)
		}
	}
	s.Sigs.Enter(command.Loading)
	res, err := runner.Run(s.Sigs.Soft, s.Sigs.Hard)
	s.Sigs.Enter(command.Writing)
	s.Line.Clear()
	res.Tool, res.Version = "redline", s.Version
	if s.fleet.run != nil {
		res.Fleet = s.fleet.run.Result()
	}
	if s.world == nil && s.fleet.run == nil && (err == nil || errors.Is(err, profile.ErrUnstable)) {
		calibration.AfterRun(&s.Traffic, watch.Levels(res))
	}
	s.readTraces(res)
	return s.finish(res, err)
}

// checkLimits looks at the connections of this machine, unless workers make them.
func (s *session) checkLimits() error {
	if s.fleet.bus != nil {
		return nil
	}
	return s.CheckLimits()
}

// openOutcome finds out early whether what shall become of the result can be done.
func (s *session) openOutcome() (err error) {
	if !s.Plan.Policies.BareReport {
		s.outcome, err = outcome.Open(s.IO, s.Plan.Outcome, "profile", s.line)
		s.Plan = s.Plan.With(func(p *plan.Plan) { p.Target.Tracing = s.outcome.Tracing("") })
	}
	if err != nil || s.outcome == nil {
		return err
	}
	return s.outcome.CheckRules(sample(s.Plan))
}

// connect starts to read the server's metrics, and to send those of the run.
func (s *session) connect() error {
	if s.outcome == nil {
		return nil
	}
	return s.outcome.Connect(s.Sigs.Soft, s.Sigs.Hard, outcome.Server{Model: s.Plan.Target.Model, Own: s.MetricsPages()})
}

// joinRanks makes this process one of several that measure together.
func (s *session) joinRanks() error {
	if !s.Plan.Load.MPI {
		return nil
	}
	w, err := mpi.Init()
	if err != nil {
		return err
	}
	s.world = w
	if w.Size() == 1 {
		return nil
	}
	return traffic.OneLevel(&s.Plan.Load)
}

// openOutputs finds out before the load whether the files can be written.
func (s *session) openOutputs() error {
	if err := s.Files.Writable(s.Plan.Output.CSV, s.Plan.Output.ResultJSON); err != nil || s.Plan.Output.Export == "" {
		return err
	}
	w, err := export.Create(s.Files, s.Plan.Output.Export, s.exportConfig())
	s.export = w
	return err
}

// finish writes the end of the report and the files, and returns the exit code.
func (s *session) finish(res *result.Result, err error) int {
	s.result = res
	if s.outcome != nil {
		workload := ""
		if s.Data != nil { // else nothing was sent
			workload = s.Fingerprint()
		}
		s.outcome.Sign(res, workload)
	}
	if s.Plan.Policies.BareReport && errors.Is(err, run.ErrInterrupted) {
		s.Console.Warn(text.ExitSignal)
	}
	s.Console.Summary(res.Levels)
	if !s.Plan.Policies.BareReport {
		s.Shapes(res)
		report.Traces(s.Stdout, res, s.Style())
	}
	code := exitCode(err)
	if res.Verdict.State == result.ServerFailed && !s.Plan.Policies.BareReport {
		code = command.ExitError
	}
	if ferr := s.writeFiles(res, err); ferr != nil {
		if err == nil || !strings.Contains(err.Error(), ferr.Error()) { // a full disk ends the run, and its file too
			fmt.Fprintln(s.Stderr, ferr)
		}
		code = command.ExitUnwritten(ferr)
	} else {
		s.fleet.keep = false
	}
	s.explainEnd(res, err)
	if s.world != nil && code == command.ExitOK {
		// A rank that leaves without this ends the others, which is right only where something went wrong.
		if err := s.world.Finalize(s.Sigs.Hard); err != nil {
			fmt.Fprintln(s.Stderr, err)
		}
	}
	if s.outcome != nil {
		return s.outcome.Finish(res, code)
	}
	return code
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return command.ExitOK
	case errors.Is(err, run.ErrInterrupted):
		return command.ExitInterrupted
	case errors.Is(err, profile.ErrUnstable):
		return command.ExitUnstable
	case errors.Is(err, profile.ErrNoRequests):
		return command.ExitNoRequests
	default:
		return command.ExitError
	}
}
