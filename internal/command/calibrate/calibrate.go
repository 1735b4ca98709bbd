// Package calibrate is `redline calibrate`: it measures how far this client's times are off, with the traffic of a run or
// with a grid, and keeps the errors in the table of this machine.
package calibrate

import (
	"errors"
	"fmt"
	"io"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/calibrate/standin"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/llm"
	"github.com/redline-bench/redline/internal/command/profile"
	"github.com/redline-bench/redline/internal/command/profile/calibration"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
)

// Run is `redline calibrate`.
func Run(p *command.IO, args []string) (int, error) {
	if len(args) == 0 {
		return keepFloors(p, "redline calibrate", calibrateGrid), nil
	}
	switch args[0] {
	case "-h", "--help":
		return 0, option.ErrHelp
	case "profile":
		return runProfile(p, args[1:])
	case "llm":
		return runLLM(p, args[1:])
	}
	return 0, fmt.Errorf("what is %q for? It takes nothing, or 'profile' or 'llm' and the options of a run; see 'redline help calibrate'", args[0])
}

// Command describes the command.
func Command() option.Command {
	return option.Command{Words: []string{"profile", "llm"}, Intro: `Usage: redline calibrate
       redline calibrate profile OPTIONS
       redline calibrate llm OPTIONS

Measures how far this client's times are off on this machine, before a run. A reference server of our
own (redline serve) holds each answer for a time and logs when it received and answered each request.
The error is the client's latency minus the server's time of the same request: p50 and p99, with sign.
Later reports on this machine state it.

To measure the error at the very pace of a run, add --calibrate to 'redline profile' or 'redline llm'
instead: that calibrates after the run.

redline calibrate profile OPTIONS sends the traffic of the run 'redline profile OPTIONS': the same
data, sizes, protocol, calls and loads. The pace of a run with a concurrency or sessions is not known
before it, so each level is calibrated at several: the server holds its answers for 0, 2, 20 and, from 10 in
flight on, 200 ms. Reports of that run state the larger error of the two paces around theirs. What the
model takes and gives is asked of the run's own server, which gets one request; if that is not there,
a built-in model of the name or --shape has to do.

redline calibrate llm OPTIONS sends the traffic of the run 'redline llm OPTIONS'. The server sends the
first token after 50 ms and each other 10 ms later. The error is that of the times of tokens.

redline calibrate alone measures a grid, for runs without a calibration of their own: HTTP and gRPC,
64 bytes, 16 KiB and 1 MiB of tensor data, 1, 8 and 64 requests in flight, each at these paces. Reports
use the nearest entry and name it. The grid takes about a minute and a half.

Run it while the machine is idle, and again after an update of redline.

Examples
  redline calibrate
  redline calibrate profile -m resnet50 -u gpu-host:8001 -i grpc --concurrency-range 1:8
      before, or after, the same command without 'calibrate'
  redline calibrate llm -m llama -u gpu-host:8000 --streaming --concurrency 1,64
`}
}

// The grid that is calibrated: elements of an FP32 tensor that is sent and returned, and requests in flight.
var (
	gridElements = []int{16, 4 << 10, 256 << 10}
	gridInFlight = []int{1, 8, 64}
)

func calibrateGrid(p *command.IO, sigs *command.Signals) ([]calibrate.Floor, error) {
	var floors []calibrate.Floor
	show := floorTable(p.Stdout)
	for _, protocol := range []plan.Protocol{plan.HTTP, plan.GRPC} {
		for _, elements := range gridElements {
			for _, n := range gridInFlight {
				draft := plan.Default()
				draft.Target.Over(protocol)
				draft.Target.Model, draft.Target.Call = "custom_identity_fp32", plan.Async
				draft.Input.Shapes = map[string][]int64{"INPUT0": {int64(elements)}}
				draft.Load.Concurrency.Start = n
				pl, err := plan.New(draft)
				if err != nil {
					return nil, err
				}
				got, err := calibration.Ladder(p, sigs, pl, &standin.Model{}, nil, show)
				if err != nil {
					return nil, err
				}
				floors = append(floors, got...)
			}
		}
	}
	return floors, nil
}

// runProfile is `redline calibrate profile`.
func runProfile(p *command.IO, args []string) (int, error) {
	const name = "redline calibrate profile"
	pl, _, err := flags.Parse(plan.Redline, name, args, p.Secrets)
	if errors.Is(err, option.ErrHelp) {
		return 0, err
	}
	if err != nil {
		return profile.UsageFailed(p, plan.Redline, err), nil
	}
	if why := profile.NeedsNative(pl); why != "" && !p.Native && kind.Of(pl.Target.Kind).Native == "" {
		return 0, command.NativeError(why)
	}
	return keepFloors(p, name, func(p *command.IO, sigs *command.Signals) ([]calibrate.Floor, error) {
		return calibratePlan(p, sigs, pl)
	}), nil
}

// calibratePlan sends the traffic of a plan to a reference server of our own, at each of several paces.
func calibratePlan(p *command.IO, sigs *command.Signals, pl *plan.Plan) ([]calibrate.Floor, error) {
	if err := calibration.Possible(pl); err != nil {
		return nil, err
	}
	m, own, err := calibration.LookAt(p, sigs, pl)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(p.Stdout, "model: "+m.How)
	return calibration.Ladder(p, sigs, pl, m, own, floorTable(p.Stdout))
}

// runLLM is `redline calibrate llm`.
func runLLM(p *command.IO, args []string) (int, error) {
	const name = "redline calibrate llm"
	measure, err := llm.Calibration(args, p.Secrets)
	if errors.Is(err, option.ErrHelp) {
		return 0, err
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "%s: %v; see redline llm --help\n", name, err)
		return command.ExitError, nil
	}
	return keepFloors(p, name, measure), nil
}

// keepFloors measures floors and puts them into the table of this machine.
func keepFloors(p *command.IO, name string, measure func(*command.IO, *command.Signals) ([]calibrate.Floor, error)) int {
	path := p.CalibrationFile()
	if path == "" {
		fmt.Fprintf(p.Stderr, "%s: there is no folder to keep the calibration in: set HOME or XDG_CACHE_HOME\n", name)
		return command.ExitError
	}
	sigs := p.WatchSignals(command.Loading)
	defer sigs.Stop()
	floors, err := measure(p, sigs)
	if err == nil {
		err = p.KeepFloors(floors)
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "%s: %v\n", name, err)
		if sigs.Soft.Err() != nil {
			return command.ExitInterrupted
		}
		return command.ExitError
	}
	fmt.Fprintf(p.Stdout, "kept in %s\n", path)
	return command.ExitOK
}

// floorTable prints the head of a table, and returns what prints its lines.
func floorTable(w io.Writer) func([]calibrate.Floor) {
	fmt.Fprintln(w, "error in usec (client minus the server's log), CPU time in usec a request")
	fmt.Fprintf(w, "%9s  %9s  %8s  %s\n", "p50", "p99", "CPU", "traffic")
	return func(floors []calibrate.Floor) {
		for _, f := range floors {
			p99 := fmt.Sprintf("%+d", f.P99Ns/1000)
			if f.AtLeast {
				p99 = "≥ " + p99
			}
			fmt.Fprintf(w, "%+9d  %9s  %8.1f  %s\n", f.P50Ns/1000, p99, float64(f.CPUNs)/1000, f.Traffic)
		}
	}
}
