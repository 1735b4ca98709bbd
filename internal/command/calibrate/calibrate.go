// Package calibrate is `redline calibrate`: it measures the error of this client's times, for the traffic of a run or for a
// grid of loads, and keeps the errors in the table of this machine.
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
		return runGrid(p)
	}
	switch args[0] {
	case "-h", "--help":
		return 0, option.ErrHelp
	case "profile":
		return runProfile(p, args[1:])
	case "llm":
		return runLLM(p, args[1:])
	}
	return 0, fmt.Errorf("unknown argument %q; use 'profile' or 'llm', see 'redline help calibrate'", args[0])
}

// Command describes the command.
func Command() option.Command {
	return option.Command{Words: []string{"profile", "llm"}, Intro: `Usage: redline calibrate
       redline calibrate profile OPTIONS
       redline calibrate llm OPTIONS

Measures the error of this client's latencies on this machine, so that later reports can state it.
The command starts a reference server (redline serve), which delays each response and logs when it
received the request and sent the response. The error is the client's latency minus the server's time
for the same request, as p50 and p99, positive or negative. It does not include the network to another machine.

It is simpler to add --calibrate to 'redline profile' or 'redline llm': the run then measures its own
error at the end, at its own pace.

redline calibrate profile OPTIONS sends the traffic of the run 'redline profile OPTIONS': the data,
sizes, protocol, calls and loads of that run. The pace of a closed loop or of sessions is not known
before the run, so each level is calibrated at several paces: the server delays responses by 0, 2 and
20 ms, and from 10 requests in flight on also by 200 ms. Reports of the run state the larger error of the two nearest
paces. The command sends one request to the run's own server to learn the model's inputs and outputs.
If that server cannot be reached, the name of a built-in model, or --shape, is used instead.

redline calibrate llm OPTIONS sends the traffic of the run 'redline llm OPTIONS'. The server sends the
first token after 50 ms and further tokens every 10 ms. The error is that of token times.

redline calibrate without arguments measures a grid, for runs that were not calibrated themselves:
HTTP and gRPC; 64 bytes, 16 KiB and 1 MiB of tensor data; 1, 8 and 64 requests in flight; each at
the paces above. Reports use the nearest entry and name it. The grid takes about 90 seconds.

Run the command while the machine is idle, and again after each update of redline.
`, Examples: `  redline calibrate
  redline calibrate profile -m resnet50 -u gpu-host:8001 -i grpc --concurrency-range 1:8
      calibrate for the run 'redline profile -m resnet50 ...'
  redline calibrate llm -m llama -u gpu-host:8000 --streaming --concurrency 1,64
`}
}

// measurement measures the errors of the traffic that a command line asks for.
type measurement func(*command.IO, *command.Signals) ([]calibrate.Floor, error)

// The grid: elements of the FP32 tensor that is sent and returned, and requests in flight.
var (
	gridElements = []int{16, 4 << 10, 256 << 10}
	gridInFlight = []int{1, 8, 64}
)

// gridPlans are the runs of the grid.
func gridPlans() ([]*plan.Plan, error) {
	var plans []*plan.Plan
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
				plans = append(plans, pl)
			}
		}
	}
	return plans, nil
}

// runGrid is `redline calibrate` without arguments. The reference server has the model of the grid.
func runGrid(p *command.IO) (int, error) {
	plans, err := gridPlans()
	if err != nil {
		return 0, err
	}
	return keepFloors(p, "redline calibrate", func(p *command.IO, sigs *command.Signals) ([]calibrate.Floor, error) {
		var floors []calibrate.Floor
		show := floorTable(p.Stdout)
		for _, pl := range plans {
			got, err := calibration.Ladder(p, sigs, pl, &standin.Model{}, nil, show)
			if err != nil {
				return nil, err
			}
			floors = append(floors, got...)
		}
		return floors, nil
	}), nil
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
		if err := calibration.Possible(pl); err != nil {
			return nil, err
		}
		m, own, err := calibration.LookAt(p, sigs, pl)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(p.Stdout, "model: "+m.How)
		return calibration.Ladder(p, sigs, pl, m, own, floorTable(p.Stdout))
	}), nil
}

// runLLM is `redline calibrate llm`.
func runLLM(p *command.IO, args []string) (int, error) {
	const name = "redline calibrate llm"
	measure, err := llm.Calibration(args, p.Secrets)
	if errors.Is(err, option.ErrHelp) {
		return 0, err
	}
	if err != nil {
		fmt.Fprintf(p.FoldedErr(), "%s: %v; see redline llm --help\n", name, err)
		return command.ExitError, nil
	}
	return keepFloors(p, name, measure), nil
}

// keepFloors measures floors and puts them into the table of this machine.
func keepFloors(p *command.IO, name string, measure measurement) int {
	path := p.CalibrationFile()
	if path == "" {
		fmt.Fprintf(p.FoldedErr(), "%s: no folder to keep the calibration in; set HOME or XDG_CACHE_HOME\n", name)
		return command.ExitError
	}
	sigs := p.WatchSignals(command.Loading)
	defer sigs.Stop()
	floors, err := measure(p, sigs)
	if err == nil {
		err = p.KeepFloors(floors)
	}
	if err != nil {
		fmt.Fprintf(p.FoldedErr(), "%s: %v\n", name, err)
		if sigs.Soft.Err() != nil {
			return command.ExitInterrupted
		}
		return command.ExitError
	}
	fmt.Fprintf(p.Stdout, "kept in %s\n", path)
	return command.ExitOK
}

// floorTable prints the header of a table and returns a function that prints its rows.
func floorTable(w io.Writer) func([]calibrate.Floor) {
	fmt.Fprintln(w, "error in usec (client minus the server's log), CPU time in usec per request")
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
