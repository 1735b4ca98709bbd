package profile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/outcome"
	"github.com/redline-bench/redline/internal/command/target"
	"github.com/redline-bench/redline/internal/mpi"
	"github.com/redline-bench/redline/internal/pacompat/export"
	"github.com/redline-bench/redline/internal/pacompat/rules"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/result"
)

// session is one run from the plan to the exit code.
type session struct {
	traffic
	world   *mpi.World // nil without --enable-mpi
	export  *export.Writer
	outcome *outcome.Outcome // nil in perf_analyzer mode
	// exportErr is why the export cannot be written; the run goes on and fails at its end.
	exportErr error
}

func (s *session) close() {
	s.outcome.Close()
	if s.export != nil {
		s.export.Abort() // does nothing after Commit
	}
	s.traffic.close()
}

func (s *session) run() int {
	for _, step := range []func() error{s.openOutcome, s.joinRanks, s.checkLimits, s.startServer, s.describe, s.check, s.load, s.openOutputs, s.stage} {
		if err := step(); err != nil {
			return s.startFailed(err)
		}
	}
	s.dataRead()
	s.showTraffic()
	s.console.Settings()
	if s.noSteps != nil {
		return s.nothingToSend()
	}
	runner := &profile.Runner{
		Plan: s.plan, Service: s.svc, Model: s.model, Async: s.async, Observer: &watcher{s},
		Feed:  s.feed(),
		Floor: s.floor(), Times: s.data.Times(), Streams: target.Streams(s.plan.Target.Kind),
		Timeline: s.plan.Face == plan.Redline, Tap: s.outcome.Tap(),
	}
	if s.outcome != nil {
		s.outcome.FromSend = s.plan.Measure.FromSend
		s.outcome.Begin(s.plan)
	}
	if s.export != nil {
		runner.Exporter = s.export
	}
	if s.world != nil && s.world.Size() > 1 {
		runner.Ranks = s.world
		if err := s.world.Barrier(s.sigs.Soft); err != nil {
			return s.startFailed(err)
		}
	}
	s.sigs.Enter(command.Loading)
	res, err := runner.Run(s.sigs.Soft, s.sigs.Hard)
	s.sigs.Enter(command.Writing)
	s.Line.Clear()
	res.Tool, res.Version = "redline", s.Version
	if err == nil || errors.Is(err, profile.ErrUnstable) {
		s.calibrateRun(res)
	}
	return s.finish(res, err)
}

// openOutcome finds out early whether what shall become of the result can be done.
func (s *session) openOutcome() (err error) {
	if s.plan.Face == plan.Redline {
		s.outcome, err = outcome.Open(s.IO, s.plan.Outcome, "profile")
	}
	return err
}

// joinRanks makes this process one of several that measure together.
func (s *session) joinRanks() error {
	if !s.plan.Load.MPI {
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
	return rules.Ranks(&s.plan.Load)
}

// openOutputs finds out before the load whether the files can be written.
func (s *session) openOutputs() error {
	for _, path := range []string{s.plan.Output.CSV, s.plan.Output.ResultJSON} {
		if err := s.Files.Writable(path); err != nil {
			return err
		}
	}
	if s.plan.Output.Export == "" {
		return nil
	}
	w, err := export.Create(s.Files, s.plan.Output.Export, s.exportConfig())
	if err != nil && s.plan.Face == plan.DropIn {
		// The original runs all the same and fails at the end; so that nothing is lost, so do we, but say it now.
		fmt.Fprintln(s.Stderr, err)
		s.exportErr = err
		return nil
	}
	s.export = w
	return err
}

// finish writes the end of the report and the files, and returns the exit code.
func (s *session) finish(res *result.Result, err error) int {
	if s.outcome != nil {
		s.outcome.Sign(res, s.workload())
	}
	s.explain(err)
	s.console.Summary(res.Levels)
	if s.plan.Face == plan.Redline {
		s.Shapes(res)
	}
	code := exitCode(err)
	if res.Verdict.State == result.ServerFailed && s.plan.Face == plan.Redline {
		code = command.ExitError
	}
	if ferr := s.writeFiles(res, err); ferr != nil {
		if err == nil || !strings.Contains(err.Error(), ferr.Error()) { // a full disk ends the run, and its file too
			fmt.Fprintln(s.Stderr, ferr)
		}
		code = command.ExitUnwritten(ferr)
	}
	s.explainEnd(res, err)
	if s.world != nil && code == command.ExitOK {
		// A rank that leaves without this ends the others, which is right only where something went wrong.
		if err := s.world.Finalize(s.sigs.Hard); err != nil {
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
	case errors.Is(err, profile.ErrInterrupted):
		return command.ExitInterrupted
	case errors.Is(err, profile.ErrUnstable):
		return command.ExitUnstable
	case errors.Is(err, profile.ErrNoRequests):
		return command.ExitNoRequests
	default:
		return command.ExitError
	}
}
