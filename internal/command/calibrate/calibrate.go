// Package calibrate is `redline calibrate`: it measures the error of this client's times, for the traffic of a run or for a
// grid of loads, and keeps the errors in the table of this machine.
package calibrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/calibrate/standin"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/llm"
	"github.com/redline-bench/redline/internal/command/profile"
	ladder "github.com/redline-bench/redline/internal/command/profile/calibration"
	"github.com/redline-bench/redline/internal/kind"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
	levels "github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// The commands, as results name them.
const (
	Grid    = "calibrate"
	Profile = "calibrate profile"
	LLM     = "calibrate llm"
)

// Run is `redline calibrate`.
func Run(p *command.IO, args []string) (int, error) {
	switch {
	case len(args) == 0 || strings.HasPrefix(args[0], "-"):
		return runGrid(p, args)
	case args[0] == "profile":
		return runProfile(p, args[1:])
	case args[0] == "llm":
		return RunLLM(p, nil, args[1:])
	}
	return 0, fmt.Errorf("unknown argument %q; use 'profile' or 'llm', see 'redline help calibrate'", args[0])
}

func rows(json *string) []option.Row {
	return option.Group("Output", []option.Row{{Long: "json", Arg: "FILE", Writes: true, Help: "write the errors and the plan as JSON, for 'redline rerun'", To: option.Text(json)}})
}

// Command describes the command.
func Command() option.Command {
	return option.Command{Words: []string{"profile", "llm"}, Rows: rows(new(string)), Intro: `Usage: redline calibrate [--json FILE]
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

Run the command while the machine is idle, and again after each update of redline. --json FILE, also among
OPTIONS, writes the errors with the plan; 'redline rerun FILE' repeats the calibration.
`, Examples: `  redline calibrate
  redline calibrate profile -m resnet50 -u gpu-host:8001 -i grpc --concurrency-range 1:8
      calibrate for the run 'redline profile -m resnet50 ...'
  redline calibrate llm -m llama -u gpu-host:8000 --streaming --concurrency 1,64
`}
}

// calibration is a calibration that a command line asks for.
type calibration struct {
	command string
	plan    *plan.Plan // of the traffic; nil: that of the grid
	json    string     // file of the result; empty for none
	measure func(*command.IO, *command.Signals) ([]calibrate.Floor, error)
}

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
func runGrid(p *command.IO, args []string) (int, error) {
	c := calibration{command: Grid}
	if _, err := command.Parse(&option.Table{Rows: rows(&c.json), Secrets: p.Secrets}, args, 0, 0, ""); err != nil {
		return 0, err
	}
	plans, err := gridPlans()
	if err != nil {
		return 0, err
	}
	c.measure = func(p *command.IO, sigs *command.Signals) ([]calibrate.Floor, error) {
		var floors []calibrate.Floor
		show := floorTable(p.Stdout)
		for _, pl := range plans {
			got, err := ladder.Ladder(p, sigs, pl, &standin.Model{}, nil, show)
			if err != nil {
				return nil, err
			}
			floors = append(floors, got...)
		}
		return floors, nil
	}
	return c.run(p), nil
}

// runProfile is `redline calibrate profile`.
func runProfile(p *command.IO, args []string) (int, error) {
	pl, _, err := flags.Parse(flags.Redline, args, p.Secrets)
	if err != nil {
		return 0, err
	}
	return RunPlan(p, pl)
}

// RunPlan calibrates for the run of a plan of redline profile.
func RunPlan(p *command.IO, pl *plan.Plan) (int, error) {
	if why := profile.NeedsNative(pl); why != "" && !p.Native && kind.Of(pl.Target.Kind).Native == "" {
		return 0, command.NativeError(why)
	}
	c := calibration{command: Profile, plan: pl, json: pl.Output.ResultJSON}
	c.measure = func(p *command.IO, sigs *command.Signals) ([]calibrate.Floor, error) {
		if err := ladder.Possible(pl); err != nil {
			return nil, err
		}
		m, own, err := ladder.LookAt(p, sigs, pl)
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(p.Stdout, "model: "+m.How)
		return ladder.Ladder(p, sigs, pl, m, own, floorTable(p.Stdout))
	}
	return c.run(p), nil
}

// RunLLM is `redline calibrate llm`. own is the plan of a result that the options change; nil for none.
func RunLLM(p *command.IO, own json.RawMessage, args []string) (int, error) {
	run, err := llm.ReadCalibration(own, args, p.Secrets)
	if errors.Is(err, option.ErrHelp) {
		return 0, err
	}
	if err != nil {
		fmt.Fprintf(p.FoldedErr(), "redline %s: %v; see redline llm --help\n", LLM, err)
		return command.ExitError, nil
	}
	c := calibration{command: LLM, plan: run.Plan(), json: run.JSON(), measure: run.Measure}
	return c.run(p), nil
}

// run measures the errors, puts them into the table of this machine, and writes the result.
func (c *calibration) run(p *command.IO) int {
	path := p.CalibrationFile()
	if path == "" {
		fmt.Fprintf(p.FoldedErr(), "redline %s: no folder to keep the calibration in; set HOME or XDG_CACHE_HOME\n", c.command)
		return command.ExitError
	}
	res := &result.Result{Schema: result.Schema, Tool: "redline", Version: p.Version, Command: c.command, Plan: c.plan, Levels: []result.Level{}, StartUnixNs: time.Now().UnixNano(), Environment: levels.Environment()}
	sigs := p.WatchSignals(command.Loading)
	defer sigs.Stop()
	err := p.Files.Writable(c.json)
	if err == nil {
		res.Floors, err = c.measure(p, sigs)
	}
	if err == nil {
		err = p.KeepFloors(res.Floors)
	}
	if res.EndUnixNs = time.Now().UnixNano(); err == nil {
		err = report.WriteFile(p.Files, c.json, res)
	}
	if err != nil {
		fmt.Fprintf(p.FoldedErr(), "redline %s: %v\n", c.command, err)
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
	fmt.Fprintln(w, "error (client minus the server's log), CPU time per request")
	fmt.Fprintf(w, "%9s  %11s  %8s  %s\n", "p50", "p99", "CPU", "traffic")
	return func(floors []calibrate.Floor) {
		for _, f := range floors {
			p99 := report.Signed(f.P99Ns)
			if f.AtLeast {
				p99 = "≥ " + p99
			}
			fmt.Fprintf(w, "%9s  %11s  %8s  %s\n", report.Signed(f.P50Ns), p99, unit.Span(float64(f.CPUNs)), f.Traffic)
		}
	}
}
