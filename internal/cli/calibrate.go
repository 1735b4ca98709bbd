package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/redline-bench/redline/internal/calibrate"
	"github.com/redline-bench/redline/internal/pacompat/flags"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/result"
)

const calibrateHelp = `Usage: redline calibrate

Sends the traffic of 'redline profile' to a server of our own that does nothing (redline serve
--null), over HTTP and gRPC, with 64 bytes, 16 KiB and 1 MiB of tensor data and 1, 8 and 64 requests
in flight, and keeps what a request costs then: its latency and the client's CPU time. Later reports
on this machine state their measurement error by it.

It takes about half a minute. Do it while the machine is idle, and again after an update of redline.
`

// The grid that is calibrated: elements of an FP32 tensor that is sent and returned, and requests in flight.
var (
	gridElements = []int{16, 4 << 10, 256 << 10}
	gridInFlight = []int{1, 8, 64}
)

// runCalibrate is `redline calibrate`.
func runCalibrate(p *IO, args []string) int {
	if len(args) > 0 {
		if args[0] == "-h" || args[0] == "--help" {
			fmt.Fprint(p.Stdout, calibrateHelp)
			return exitOK
		}
		fmt.Fprintf(p.Stderr, "redline calibrate: it takes no arguments, so what is %q for? see 'redline help calibrate'\n", args[0])
		return exitError
	}
	sigs := watchSignals(nil)
	defer sigs.stop()
	table, err := calibrateAll(p, sigs)
	path := p.calibrationFile()
	if err == nil {
		err = table.Save(path)
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "redline calibrate: %v\n", err)
		if errors.Is(err, profile.ErrInterrupted) {
			return exitInterrupted
		}
		return exitError
	}
	fmt.Fprintf(p.Stdout, "kept in %s\n", path)
	return exitOK
}

func calibrateAll(p *IO, sigs *signals) (*calibrate.Table, error) {
	server, err := startEmbedded(sigs.soft, p, []string{"--null"})
	if err != nil {
		return nil, err
	}
	defer server.stop()
	table := &calibrate.Table{Machine: p.machine(), When: time.Now().UTC().Truncate(time.Second)}
	fmt.Fprintf(p.Stdout, "%-8s  %9s  %9s  %8s  %8s  %s\n", "protocol", "in flight", "bytes", "p50 usec", "p99 usec", "CPU usec a request")
	for _, protocol := range []plan.Protocol{plan.HTTP, plan.GRPC} {
		for _, elements := range gridElements {
			for _, n := range gridInFlight {
				f, err := calibrateOne(p, sigs, server, protocol, elements, n)
				if err != nil {
					return nil, err
				}
				table.Floors = append(table.Floors, f)
				fmt.Fprintf(p.Stdout, "%-8s  %9d  %9d  %8d  %8d  %.1f\n", f.Protocol, f.InFlight, f.Bytes, f.P50Ns/1000, f.P99Ns/1000, float64(f.CPUNs)/1000)
			}
		}
	}
	return table, nil
}

// calibrateOne measures one cell of the grid, silently.
func calibrateOne(p *IO, sigs *signals, server *embedded, protocol plan.Protocol, elements, inFlight int) (calibrate.Floor, error) {
	pl, _, err := flags.Parse(plan.Redline, "redline calibrate", []string{
		"-m", "custom_identity_fp32", "-i", string(protocol), "-u", server.address(protocol),
		"--shape", "INPUT0:" + strconv.Itoa(elements), "--concurrency-range", strconv.Itoa(inFlight),
		"-p", "300", "-r", "3", "-s", "999", "-a",
	})
	if err != nil {
		return calibrate.Floor{}, err
	}
	quiet := *p
	quiet.Stdout, quiet.Stderr = io.Discard, io.Discard
	s := &session{IO: &quiet, plan: pl, sigs: sigs}
	defer s.close()
	for _, step := range []func() error{s.describe, s.check, s.load} {
		if err := step(); err != nil {
			return calibrate.Floor{}, err
		}
	}
	runner := &profile.Runner{
		Plan: pl, Service: s.svc, Model: s.model, Async: s.async, Observer: silent{},
		Feed: newFeeds(s.requests, s.model, pl, s.async).feed,
	}
	res, err := runner.Run(sigs.soft, sigs.hard)
	if err != nil {
		return calibrate.Floor{}, err
	}
	lv := &res.Levels[0]
	return calibrate.Floor{
		Protocol: string(protocol), InFlight: inFlight, Bytes: lv.Client.Bytes,
		P50Ns: lv.Client.Sent.At(50), P99Ns: lv.Client.Sent.At(99), CPUNs: lv.Health.CPUPerRequestNs,
	}, nil
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

// calibrationFile is where the floors of this machine are kept.
func (p *IO) calibrationFile() string {
	dir := p.Getenv("XDG_CACHE_HOME")
	if dir == "" {
		dir = filepath.Join(p.Getenv("HOME"), ".cache")
	}
	return filepath.Join(dir, "redline", "calibration.json")
}

// floor finds the calibrated floor for a level, in our own face and where there is one.
func (s *session) floor() func(float64, uint64) int64 {
	if s.plan.Face != plan.Redline {
		return nil
	}
	table, err := calibrate.Load(s.calibrationFile(), s.machine())
	if err != nil {
		s.warn("warning: " + err.Error())
	}
	return func(inFlight float64, bytes uint64) int64 {
		f, _ := table.Lookup(string(s.plan.Target.Protocol), inFlight, bytes)
		return f.P50Ns
	}
}
