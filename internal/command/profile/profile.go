// Package profile is `redline profile`, and the whole program under a name whose command line it has. A plan becomes traffic (what is sent to
// which server), a session runs it and reports; the rest calibrates: it sends the same traffic to a reference server.
package profile

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/class"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/pacompat/text"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
)

// Run is `redline profile`.
func Run(p *command.IO, args []string) (int, error) {
	return RunAs(p, flags.Redline, "redline profile", args)
}

// RunAs runs a command line of a program that was started under a name.
func RunAs(p *command.IO, program flags.Program, name string, args []string) (int, error) {
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	pl, notes, err := flags.Parse(program, args, p.Secrets)
	if err == nil && !p.Native && NeedsNative(pl) != "" {
		return 0, command.NativeError(NeedsNative(pl)) // redline-native reports the rest
	}
	for _, w := range notes.Warnings {
		fmt.Fprintln(p.Stderr, w)
	}
	if errors.Is(err, flags.ErrVersion) {
		fmt.Fprintln(p.Stderr, flags.VersionLine(program, p.Version))
		return command.ExitOK, nil
	}
	if err != nil {
		return 0, err
	}
	if err := class.Save(p, notes.SaveScenario, "profile", notes.Options, flags.Rows(flags.Redline), Outside()); err != nil {
		return 0, err
	}
	return start(p, sigs, pl, name, notes.CommandLine), nil
}

// Repeat runs the plan of an earlier run. line is the command line without secrets.
func Repeat(p *command.IO, pl *plan.Plan, line string) (int, error) {
	if why := NeedsNative(pl); why != "" && !p.Native {
		return 0, command.NativeError(why)
	}
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	return start(p, sigs, pl, "redline rerun", line), nil
}

// start carries out a plan and returns the exit code.
func start(p *command.IO, sigs *command.Signals, pl *plan.Plan, name, line string) int {
	s := newSession(p, sigs, pl, name, line)
	defer s.close()
	return s.run()
}

func newSession(p *command.IO, sigs *command.Signals, pl *plan.Plan, name, line string) *session {
	if pl.Policies.BareReport {
		p = p.ForPrograms(sigs, text.Notice)
	} else {
		p = p.ForRun(pl.Outcome, sigs)
	}
	return &session{name: name, line: line, Traffic: traffic.Traffic{IO: p, Plan: pl, Sigs: sigs}}
}

// Measure carries out a plan for a Go program, which says by sigs when the run shall end. It returns the result, nil if nothing was
// measured, and the exit code. p receives the output.
func Measure(p *command.IO, sigs *command.Signals, pl *plan.Plan, line string) (*result.Result, int, error) {
	if why := NeedsNative(pl); why != "" {
		return nil, command.ExitError, command.NativeError(why)
	}
	s := newSession(p, sigs, pl, "redline profile", line)
	defer s.close()
	code := s.run()
	return s.result, code, nil
}

// NeedsNative says what of the plan needs a library, or nothing.
func NeedsNative(p *plan.Plan) string {
	switch native := kind.Of(p.Target.Kind).Native; {
	case native != "":
		return native
	case p.Input.SharedMemory == plan.CUDASharedMemory:
		return "--shared-memory cuda loads libcudart.so"
	case p.Load.MPI:
		return "--enable-mpi loads libmpi.so"
	default:
		return ""
	}
}

// Command describes the command.
func Command() option.Command {
	c := flags.Command(flags.Redline, "")
	c.Exits = command.Exits(command.ExitOK, command.ExitUnstable, command.ExitNoRequests, command.ExitAssertion, command.ExitInvalid,
		command.ExitError, command.ExitInterrupted)
	return c
}
