package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/optset"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/result"
)

const calibrateHelp = `Usage: redline calibrate
       redline calibrate profile OPTIONS
       redline calibrate llm OPTIONS

Measures how far this client's times are off on this machine, before a run. A reference server of our
own (redline serve) holds each answer for a time and logs when it received and answered each request.
The error is the client's latency minus the server's time of the same request: p50 and p99, with sign.
Later reports on this machine state it.

To measure the error at the very pace of a run, add --calibrate to 'redline profile' or 'redline llm'
instead: that calibrates after the run.

redline calibrate profile OPTIONS sends the traffic of the run 'redline profile OPTIONS': the same
data, sizes, protocol, calls and loads. The pace of a run with a concurrency is not known before it,
so each level is calibrated at several: the server holds its answers for 0, 2, 20 and, from 10 in
flight on, 200 ms. Reports of that run state the larger error of the two paces around theirs. What the
model takes and gives is asked of the run's own server, which gets one request; if that is not there,
a built-in model of the name or --shape has to do.

redline calibrate llm OPTIONS sends the traffic of the run 'redline llm OPTIONS'. The server sends the
first token after 50 ms and each other 10 ms later. The error is that of the times of tokens.

redline calibrate alone measures a grid, for runs that nobody calibrated: HTTP and gRPC, 64 bytes,
16 KiB and 1 MiB of tensor data, 1, 8 and 64 requests in flight, each at these paces. Reports take the
nearest and name it. It takes about a minute and a half.

Do it while the machine is idle, and again after an update of redline.

Examples
  redline calibrate
  redline calibrate profile -m resnet50 -u gpu-host:8001 -i grpc --concurrency-range 1:8
      before, or after, the same command without 'calibrate'
  redline calibrate llm -m llama -u gpu-host:8000 --streaming --concurrency 1,64
`

// The grid that is calibrated: elements of an FP32 tensor that is sent and returned, and requests in flight.
var (
	gridElements = []int{16, 4 << 10, 256 << 10}
	gridInFlight = []int{1, 8, 64}
)

// runCalibrate is `redline calibrate`.
func runCalibrate(p *command.IO, args []string) (int, error) {
	if len(args) == 0 {
		return keepFloors(p, "redline calibrate", calibrateGrid), nil
	}
	switch args[0] {
	case "-h", "--help":
		return command.ExitOK, optset.ErrHelp
	case "profile":
		return runCalibrateProfile(p, args[1:])
	case "llm":
		return runCalibrateLLM(p, args[1:])
	}
	return command.ExitError, fmt.Errorf("what is %q for? It takes nothing, or 'profile' or 'llm' and the options of a run; see 'redline help calibrate'", args[0])
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
		if errors.Is(err, profile.ErrInterrupted) || sigs.Soft.Err() != nil {
			return command.ExitInterrupted
		}
		return command.ExitError
	}
	fmt.Fprintf(p.Stdout, "kept in %s\n", path)
	return command.ExitOK
}

func calibrateGrid(p *command.IO, sigs *command.Signals) ([]calibrate.Floor, error) {
	var floors []calibrate.Floor
	floorHead(p.Stdout)
	for _, protocol := range []plan.Protocol{plan.HTTP, plan.GRPC} {
		for _, elements := range gridElements {
			for _, n := range gridInFlight {
				pl, _, err := flags.Parse(plan.Redline, "redline calibrate", []string{
					"-m", "custom_identity_fp32", "-i", string(protocol), "--shape", "INPUT0:" + strconv.Itoa(elements), "--concurrency-range", strconv.Itoa(n), "-a",
				}, p.Secrets)
				if err != nil {
					return nil, err
				}
				got, err := (&paceRun{IO: p, sigs: sigs, plan: pl, model: &standIn{}}).ladder()
				if err != nil {
					return nil, err
				}
				floors = append(floors, got...)
			}
		}
	}
	return floors, nil
}

func floorHead(w io.Writer) {
	fmt.Fprintln(w, "error in usec (client minus the server's log), CPU time in usec a request")
	fmt.Fprintf(w, "%9s  %9s  %8s  %s\n", "p50", "p99", "CPU", "traffic")
}

func floorLines(w io.Writer, floors []calibrate.Floor) {
	for _, f := range floors {
		p99 := fmt.Sprintf("%+d", f.P99Ns/1000)
		if f.AtLeast {
			p99 = "≥ " + p99
		}
		fmt.Fprintf(w, "%+9d  %9s  %8.1f  %s\n", f.P50Ns/1000, p99, float64(f.CPUNs)/1000, f.Traffic)
	}
}

// silent is an observer that says nothing.
type silent struct{}

func (silent) LevelBegins(*result.Level, bool) {}
func (silent) Pass(int, *result.Window)        {}
func (silent) LevelEnds(*result.Level)         {}
func (silent) RanksStable()                    {}
func (silent) Progress(profile.Progress)       {}
func (silent) Warn(profile.Warning)            {}

// floor adds the error that an earlier calibration found to the health of a level. With --calibrate it is measured after
// the run instead. The drop-in states none.
func (s *session) floor() func(*result.Level) {
	if s.plan.Face != plan.Redline || s.plan.Measure.Calibrate {
		return nil
	}
	table := s.Calibration(s.warn)
	return func(lv *result.Level) {
		if f, ok := table().Find(trafficOf(s.plan, lv)); ok {
			lv.Health.Error = measure.StatedError(f, lv)
		}
	}
}

// trafficOf is what the calibration knows a measured level by.
func trafficOf(p *plan.Plan, lv *result.Level) calibrate.Traffic {
	t := calibrate.Traffic{
		Protocol: string(p.Target.Protocol), Mode: "unary", Concurrency: lv.Concurrency, Rate: lv.Rate, InFlight: lv.Health.AchievedInFlight,
		RequestBytes: lv.Client.RequestBytes, ResponseBytes: lv.Client.ResponseBytes, PerSecond: pacePerSecond(lv),
	}
	if lv.Concurrency > 0 {
		t.InFlight = float64(lv.Concurrency)
	}
	if p.Target.Kind != plan.Triton {
		t.Service = string(p.Target.Kind)
	}
	if p.Target.Streaming {
		t.Mode = "stream"
	}
	if secure(&p.Target) {
		t.Mode += " TLS"
	}
	if c := p.Target.Compression; c != "" && c != "none" {
		t.Mode += " " + c
	}
	if m := p.Input.SharedMemory; m != "" && m != plan.NoSharedMemory {
		t.Mode += " " + string(m) + " shared memory"
	}
	if lv.Rate > 0 && p.Load.Distribution == plan.Poisson {
		t.Mode += " poisson"
	}
	return t
}

// pacePerSecond is how many requests of a level ended a second.
func pacePerSecond(lv *result.Level) float64 {
	if lv.Client.DurationNs == 0 {
		return 0
	}
	return float64(lv.Client.Requests) / time.Duration(lv.Client.DurationNs).Seconds()
}
