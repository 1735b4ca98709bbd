package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/result"
)

const calibrateHelp = `Usage: redline calibrate
       redline calibrate profile OPTIONS
       redline calibrate llm OPTIONS

Measures what a request costs when the server does nothing: its latency and the client's CPU time. A
server of our own answers (redline serve --null). Later reports on this machine state their
measurement error by it.

redline calibrate profile OPTIONS sends the traffic of the run 'redline profile OPTIONS': the same
data, sizes, protocol, calls and loads. What the model takes and gives is asked of the run's own
server, which gets one request; if that is not there, a built-in model of the name or --shape has to
do. Reports of that run then state the error of their very traffic.

redline calibrate llm OPTIONS sends the traffic of the run 'redline llm OPTIONS' to the reference
server, which sends tokens at a pace of its own and writes down when. The error of the times of
tokens is how far the client's are from that.

redline calibrate alone measures a grid, for runs that nobody calibrated: HTTP and gRPC, 64 bytes,
16 KiB and 1 MiB of tensor data, 1, 8 and 64 requests in flight. Reports take the nearest and name
it. It takes about half a minute.

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
func runCalibrate(p *IO, args []string) int {
	if len(args) == 0 {
		return keepFloors(p, "redline calibrate", calibrateGrid)
	}
	switch args[0] {
	case "-h", "--help":
		fmt.Fprint(p.Stdout, calibrateHelp)
		return exitOK
	case "profile":
		return runCalibrateProfile(p, args[1:])
	case "llm":
		return runCalibrateLLM(p, args[1:])
	}
	fmt.Fprintf(p.Stderr, "redline calibrate: what is %q for? It takes nothing, or 'profile' or 'llm' and the options of a run; see 'redline help calibrate'\n", args[0])
	return exitError
}

// keepFloors measures floors and puts them into the table of this machine.
func keepFloors(p *IO, name string, measure func(*IO, *signals) ([]calibrate.Floor, error)) int {
	path := p.calibrationFile()
	if path == "" {
		fmt.Fprintf(p.Stderr, "%s: there is no folder to keep the calibration in: set HOME or XDG_CACHE_HOME\n", name)
		return exitError
	}
	sigs := p.watchSignals(loading)
	defer sigs.stop()
	floors, err := measure(p, sigs)
	if err == nil {
		table, _ := calibrate.Load(path, p.machine()) // one that cannot be read is written anew
		if table == nil {
			table = calibrate.New(p.machine())
		}
		table.Put(floors...)
		err = table.Save(p.Files, path)
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "%s: %v\n", name, err)
		if errors.Is(err, profile.ErrInterrupted) || sigs.soft.Err() != nil {
			return exitInterrupted
		}
		return exitError
	}
	fmt.Fprintf(p.Stdout, "kept in %s\n", path)
	return exitOK
}

func calibrateGrid(p *IO, sigs *signals) ([]calibrate.Floor, error) {
	server, err := startEmbedded(sigs.soft, p, []string{"--null"})
	if err != nil {
		return nil, err
	}
	defer server.stop()
	var floors []calibrate.Floor
	floorHead(p.Stdout)
	for _, protocol := range []plan.Protocol{plan.HTTP, plan.GRPC} {
		for _, elements := range gridElements {
			for _, n := range gridInFlight {
				pl, _, err := flags.Parse(plan.Redline, "redline calibrate", []string{
					"-m", "custom_identity_fp32", "-i", string(protocol), "-u", server.address(protocol),
					"--shape", "INPUT0:" + strconv.Itoa(elements), "--concurrency-range", strconv.Itoa(n), "-a",
				}, p.Secrets)
				if err != nil {
					return nil, err
				}
				got, err := measureFloors(&session{IO: p.silenced(), plan: pl, sigs: sigs}, "", func(*session) {})
				if err != nil {
					return nil, err
				}
				floorLines(p.Stdout, got)
				floors = append(floors, got...)
			}
		}
	}
	return floors, nil
}

// silenced is the same process with nobody listening.
func (p *IO) silenced() *IO {
	quiet := *p
	quiet.Stdout, quiet.Stderr = io.Discard, io.Discard
	return &quiet
}

func floorHead(w io.Writer) {
	fmt.Fprintf(w, "%8s  %8s  %18s  %s\n", "p50 usec", "p99 usec", "CPU usec a request", "traffic")
}

func floorLines(w io.Writer, floors []calibrate.Floor) {
	for _, f := range floors {
		fmt.Fprintf(w, "%8d  %8d  %18.1f  %s\n", f.P50Ns/1000, f.P99Ns/1000, float64(f.CPUNs)/1000, f.Traffic)
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

func (p *IO) machine() calibrate.Machine {
	host, _ := os.Hostname()
	return calibrate.Machine{Hostname: host, CPUs: runtime.NumCPU(), Version: p.version()}
}

// calibrationFile is where the floors of this machine are kept; empty where the user has no folder for it.
func (p *IO) calibrationFile() string {
	dir := p.Getenv("XDG_CACHE_HOME")
	switch home := p.Getenv("HOME"); {
	case dir != "":
	case home != "":
		dir = filepath.Join(home, ".cache")
	case p.Getenv("LOCALAPPDATA") != "":
		dir = p.Getenv("LOCALAPPDATA")
	default:
		return ""
	}
	return filepath.Join(dir, "redline", "calibration.json")
}

// floor tells the health of a level how large the calibrated error is, in our own face and where there is one.
func (s *session) floor() func(*result.Level) {
	if s.plan.Face != plan.Redline {
		return nil
	}
	table := s.calibration(s.warn)
	return func(lv *result.Level) {
		f, exact, ok := table().Lookup(trafficOf(s.plan, lv))
		if !ok {
			return
		}
		lv.Health.FloorNs, lv.Health.FloorExact = f.P50Ns, exact
		if !exact {
			lv.Health.FloorOf = f.Traffic.String()
		}
	}
}

// calibration reads what is known of this machine when it is first asked for: the first level asks, not the start, as the
// first request shall not wait for a file.
func (p *IO) calibration(warn func(string)) func() *calibrate.Table {
	return sync.OnceValue(func() *calibrate.Table {
		path := p.calibrationFile()
		if path == "" {
			return nil
		}
		t, err := calibrate.Load(path, p.machine())
		if err != nil {
			warn("warning: " + err.Error())
		}
		return t
	})
}

// trafficOf is what the calibration knows a measured level by.
func trafficOf(p *plan.Plan, lv *result.Level) calibrate.Traffic {
	t := calibrate.Traffic{
		Protocol: string(p.Target.Protocol), Mode: "unary", Concurrency: lv.Concurrency, Rate: lv.Rate, InFlight: lv.Health.AchievedInFlight,
		RequestBytes: lv.Client.RequestBytes, ResponseBytes: lv.Client.ResponseBytes,
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

// floorsOf are the floors that the levels of a run against a server that does nothing show.
func floorsOf(p *plan.Plan, res *result.Result, server string) []calibrate.Floor {
	var floors []calibrate.Floor
	for i := range res.Levels {
		lv := &res.Levels[i]
		if lv.Client.Requests == 0 {
			continue
		}
		floors = append(floors, calibrate.Floor{
			Traffic: trafficOf(p, lv), P50Ns: lv.Client.Latency.At(50), P99Ns: lv.Client.Latency.At(99), CPUNs: lv.Health.CPUPerRequestNs,
			Server: server, When: time.Now().UTC().Truncate(time.Second),
		})
	}
	return floors
}
