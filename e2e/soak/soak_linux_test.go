// Package soak loads the reference server for a long time over every wire at once, at full speed, while the server is
// killed, started again and made to fail every second. The clients run in the process of the test, so that their
// goroutines and their memory can be counted.
package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/cli"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/pending"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// rate is that of the wire in open loop, in requests per second. Clients give a server up that is out of reach for three
// seconds, or for a hundred requests in a row.
const (
	rate     = 30
	patience = 2 * time.Second
)

// length is how long the load lasts: SOAK, or two minutes.
func length(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("SOAK")
	if text == "" {
		return 2 * time.Minute
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 10*time.Second {
		t.Fatalf("SOAK=%s is no time of at least 10s", text)
	}
	return d
}

// wire is a client that runs for some time, several times where it gives the server up, and what came of it.
type wire struct {
	name string
	args func(left time.Duration) []string
	once bool // it must send all that is due in one run

	json         string
	out          binary.Buffer
	runs         int
	good, failed uint64
	took         time.Duration // of the last run
	unreached    int           // runs without a level: the server was away when they began
	errs         []error
}

func wires(ports map[string]string, dir string) []*wire {
	const window = 5 * time.Second
	profile := func(name, protocol string, more ...string) *wire {
		return &wire{name: name, args: func(left time.Duration) []string {
			// No three windows are that alike, so all of them are measured.
			return append([]string{
				"profile", "-m", "simple", "-i", protocol, "-u", ports[protocol], "--max-error-rate", "100", "-s", "0.000001",
				"-p", strconv.FormatInt(window.Milliseconds(), 10), "-r", strconv.Itoa(max(1, int(left/window))),
			}, more...)
		}}
	}
	llm := func(name, version string) *wire {
		return &wire{name: name, args: func(left time.Duration) []string {
			return []string{
				"llm", "-m", "m", "-u", ports["openai"], "--streaming", "--http-version", version, "--concurrency", "4", "--osl", "20",
				"--benchmark-duration", strconv.Itoa(int(left.Seconds())), "--max-error-rate", "100", "--exports", "summary", "--artifact-dir", filepath.Join(dir, name),
			}
		}}
	}
	open := &wire{name: "open-loop", once: true, args: func(left time.Duration) []string {
		return []string{
			"profile", "-m", "simple", "-u", ports["http"], "--max-error-rate", "100",
			"--request-rate-range", strconv.Itoa(rate), "--request-count", strconv.Itoa(due(left)),
		}
	}}
	list := []*wire{
		profile("http", "http", "--concurrency-range", "8"),
		profile("grpc", "grpc", "--concurrency-range", "8"),
		profile("grpc-stream", "grpc", "--streaming", "--concurrency-range", "8"),
		llm("sse", "1.1"), llm("sse-http2", "2"), open,
	}
	for _, w := range list {
		w.json = filepath.Join(dir, w.name+".json")
	}
	return list
}

// due is how many requests the open loop sends in a time.
func due(d time.Duration) int { return rate * int(d.Seconds()) }

// run runs the client until the time is over.
func (w *wire) run(d time.Duration) {
	for end := time.Now().Add(d); time.Until(end) >= 5*time.Second && len(w.errs) == 0; {
		secrets := &secret.Set{}
		args := slices.Concat([]string{"redline"}, w.args(time.Until(end).Round(time.Second)), []string{"--json", w.json})
		w.runs++
		begun := time.Now()
		code := cli.Main(&command.IO{
			Args: args, Stdin: strings.NewReader(""), Stdout: &w.out, Stderr: &w.out, Secrets: secrets, Files: pending.New(secrets),
			Getenv: os.Getenv, Executable: os.Executable, Width: func() int { return 0 },
		})
		w.took = time.Since(begun)
		switch err := w.add(begun); {
		case errors.Is(err, errUnreached):
			w.unreached++
		case err != nil:
			w.errs = append(w.errs, fmt.Errorf("%s: exit code %d: %w", w.name, code, err))
		}
		if w.once {
			return
		}
	}
}

// errUnreached is the outcome of a run that measured no level.
var errUnreached = errors.New("no level was measured")

// add takes the result of a run in.
func (w *wire) add(begun time.Time) error {
	text, err := os.ReadFile(w.json)
	if errors.Is(err, fs.ErrNotExist) {
		return errUnreached
	}
	if err != nil {
		return err
	}
	if err := os.Remove(w.json); err != nil {
		return err
	}
	var res result.Result
	if err := json.Unmarshal(text, &res); err != nil {
		return err
	}
	switch len(res.Levels) {
	case 0:
		return errUnreached
	case 1:
	default:
		return fmt.Errorf("%d levels", len(res.Levels))
	}
	for _, f := range res.Levels[0].Failures {
		w.failed += f.Count
	}
	for _, win := range res.Levels[0].Windows {
		w.good += win.Client.Requests
	}
	start, end, now := time.Unix(0, res.StartUnixNs), time.Unix(0, res.EndUnixNs), time.Now()
	if start.Before(begun.Add(-time.Second)) || end.After(now.Add(time.Second)) {
		return fmt.Errorf("it ran from %v to %v, by its own clock from %v to %v", begun, now, start, end)
	}
	return nil
}

// server is the reference server, which comes back on the same ports.
type server struct {
	bin   string
	ports map[string]string
	cmd   *exec.Cmd
}

// faults are what goes wrong between two restarts.
var faults = []string{"reset,every=50", "error,every=20", "truncate,every=50", "goaway,every=50", "malformed,every=50", "length,every=50"}

func (s *server) start(t *testing.T, nth int) {
	t.Helper()
	args := []string{"serve", "--exit-with-parent", "--ttft", "2ms", "--itl", "1ms"}
	for name, address := range s.ports {
		_, port, _ := strings.Cut(address, ":")
		args = append(args, "--"+name+"-port", port)
	}
	if nth > 0 {
		args = append(args, "--fault", "*="+faults[nth%len(faults)])
	}
	s.cmd = exec.Command(s.bin, args...)
	if _, err := s.cmd.StdinPipe(); err != nil { // open as long as the test lives
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready := make([]byte, len("ready "))
	if _, err := io.ReadFull(out, ready); err != nil || string(ready) != "ready " {
		t.Fatalf("the server did not start: %q, %v", ready, err)
	}
}

func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// sample is the state of the process: memory that is in use after a collection, and goroutines.
type sample struct {
	heap       uint64
	goroutines int
}

func look() sample {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return sample{m.HeapAlloc, runtime.NumGoroutine()}
}

// exactValues is what the clients may keep more in the second half: each keeps the first 262,144 latencies of a quantity
// one by one, before it counts them in a histogram. That is at most 2 MiB a quantity.
const exactValues = 16 << 20

// most is the largest of each.
func most(list []sample) (m sample) {
	for _, s := range list {
		m = sample{max(m.heap, s.heap), max(m.goroutines, s.goroutines)}
	}
	return m
}

func (s sample) String() string {
	return fmt.Sprintf("%.1f MiB, %d goroutines", float64(s.heap)/(1<<20), s.goroutines)
}

// TestSoak holds that neither memory nor goroutines grow, that each client counts what happened to it, and that the one in
// open loop sends what was due, no more and no less, in the time that it was due in.
func TestSoak(t *testing.T) {
	outcome.HeavyOnly(t, "every wire at full speed while the server fails")
	d := length(t)
	dir := t.TempDir()
	bin, err := binary.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	srv := &server{bin: filepath.Join(bin, "redline"), ports: map[string]string{}}
	for _, name := range []string{"http", "grpc", "metrics", "openai", "torchserve", "tfserving"} {
		srv.ports[name] = testkit.Port(t)
	}
	srv.start(t, 0)
	defer func() { srv.kill() }()

	list := wires(srv.ports, dir)
	var running sync.WaitGroup
	for _, w := range list {
		running.Go(func() { w.run(d) })
	}
	samples, outage := disturb(t, srv, d)
	running.Wait()

	half := len(samples) / 2
	early, late := most(samples[:half]), most(samples[half:])
	t.Logf("%v, %d restarts, longest outage %v: at most %v in the first half, %v in the second", d, len(samples), outage.Round(time.Millisecond), early, late)
	if late.heap > early.heap+early.heap/10+exactValues {
		t.Errorf("memory grew from %v to %v", early, late)
	}
	if late.goroutines > early.goroutines+early.goroutines/10+5 {
		t.Errorf("goroutines grew from %v to %v", early, late)
	}
	for _, w := range list {
		t.Logf("%-11s %8d succeeded, %6d failed, %d runs", w.name, w.good, w.failed, w.runs)
		w.check(t, d, outage)
	}
}

// disturb kills the server each second and starts it again with another fault, for a time. It looks at the process
// before each restart, and tells how long the server was away at most.
func disturb(t *testing.T, srv *server, d time.Duration) (samples []sample, outage time.Duration) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); {
		<-tick.C
		samples = append(samples, look())
		killed := time.Now()
		srv.kill()
		srv.start(t, len(samples))
		outage = max(outage, time.Since(killed))
	}
	return samples, outage
}

// check compares what a client counted with the faults and the schedule.
func (w *wire) check(t *testing.T, d, outage time.Duration) {
	t.Helper()
	for _, err := range w.errs {
		t.Errorf("%v\n%s", err, w.out.String())
	}
	if w.unreached > 0 && outage <= patience {
		t.Errorf("%s: %d runs measured no level, while the server was away for at most %v\n%s", w.name, w.unreached, outage, w.out.String())
	}
	if w.good == 0 || w.failed == 0 {
		t.Errorf("%s: %d requests succeeded and %d failed, while the server failed every second\n%s", w.name, w.good, w.failed, w.out.String())
	}
	if !w.once {
		return
	}
	if sent := w.good + w.failed; sent != uint64(due(d)) || w.took < d-time.Second || w.took > d+10*time.Second {
		if outage > patience && !t.Failed() {
			outcome.Inconclusive(t, fmt.Sprintf("the server was away for %v, so the open loop gave it up", outage))
		}
		t.Errorf("%s: %d requests were due in %v, %d were sent in %v\n%s", w.name, due(d), d, sent, w.took, w.out.String())
	}
}
