// Package profile is `redline profile`, and the whole program in perf_analyzer mode. A plan becomes traffic (what is sent to
// which server), a session runs it and reports; the rest calibrates: it sends the same traffic to a reference server.
package profile

import (
	"errors"
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/profile/traffic"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
)

// Run is `redline profile`.
func Run(p *command.IO, args []string) (int, error) {
	return run(p, plan.Redline, "redline profile", args)
}

// RunPerfAnalyzer is the whole program under the name perf_analyzer.
func RunPerfAnalyzer(p *command.IO, name string, args []string) (int, error) {
	return run(p, plan.DropIn, name, args)
}

func run(p *command.IO, face plan.Face, name string, args []string) (int, error) {
	sigs := p.WatchSignals(command.Preparing)
	defer sigs.Stop()
	pl, notes, err := flags.Parse(face, name, args, p.Secrets)
	if err == nil && !p.Native {
		if why := NeedsNative(pl); why != "" {
			return 0, command.NativeError(why) // redline-native reports the rest
		}
	}
	for _, w := range notes.Warnings {
		fmt.Fprintln(p.Stderr, w)
	}
	if err != nil {
		return UsageFailed(p, face, err), nil
	}
	p = p.ForRun(pl.Outcome, face, sigs)
	s := &session{Traffic: traffic.Traffic{IO: p, Plan: pl, Notes: notes, Sigs: sigs}}
	defer s.close()
	return s.run(), nil
}

// NeedsNative says what of the plan needs a library, or nothing.
func NeedsNative(p *plan.Plan) string {
	switch {
	case p.Target.Kind == plan.TritonCAPI:
		return "--service-kind triton_c_api loads libtritonserver.so"
	case p.Input.SharedMemory == plan.CUDASharedMemory:
		return "--shared-memory cuda loads libcudart.so"
	case p.Load.MPI:
		return "--enable-mpi loads libmpi.so"
	default:
		return ""
	}
}

// UsageFailed prints what is wrong with the arguments, or what they ask for, and returns the exit code.
func UsageFailed(p *command.IO, face plan.Face, err error) int {
	var usage *flags.UsageError
	switch {
	case errors.Is(err, option.ErrHelp):
		c := flags.Command(face, "")
		fmt.Fprint(p.Stdout, c.Help(p.Columns()))
		return command.ExitOK
	case errors.Is(err, flags.ErrVersion):
		fmt.Fprintln(p.Stderr, flags.VersionLine(face, p.Version))
		return command.ExitOK
	case errors.As(err, &usage):
		fmt.Fprint(p.Stderr, usage.Stderr(p.Columns()))
	default:
		fmt.Fprintln(p.Stderr, err)
	}
	return command.ExitError
}

// Command describes the command.
func Command() option.Command { return flags.Command(plan.Redline, "") }
