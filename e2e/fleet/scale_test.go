//go:build linux

package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/run"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// Many workers, each with a connection of its own to a real nats-server, make one load: no worker is lost, each sends its share, and the test
// prints how the costs of the coordinator grow with the number of workers. A hundred workers are goroutines of one process, and their target answers at
// once without a network. Without REDLINE_HEAVY the fleets are small. A thousand workers, with their server, need more CPU time than few cores have.
func TestTimedManyWorkers(t *testing.T) {
	const cores, most = 16, 300
	sizes := []int{10, 30}
	if outcome.Heavy() {
		sizes = []int{10, 30, 100, most, 1000}
	}
	l := open(t, 0)
	var points []scalePoint
	for _, n := range sizes {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			if n > most && runtime.NumCPU() < cores {
				t.Skipf("%d workers on this machine need %d cores; it has %d", n, cores, runtime.NumCPU())
			}
			points = append(points, l.scale(t, n))
			t.Logf("\n%s", scaleTable(points))
		})
	}
}

// scalePoint is what a run of n workers cost.
type scalePoint struct {
	n int
	// Messages of one worker, in both directions: blocks of records with their acknowledgments, and all others.
	blocks, control float64
	seconds         float64       // that the run took, with the wait for the workers
	merged          time.Duration // from the end of a window until its figures are printed, the longest
	cpu             time.Duration // of the coordinator
	memory          float64       // of the coordinator at most, in MiB
	skew            time.Duration // between the first and the last start
	clockError      time.Duration
	rate            float64
}

// ratePerWorker is how many requests a second each worker sends.
const ratePerWorker = 10

// scale runs a fleet of n workers.
func (l *lab) scale(t *testing.T, n int) scalePoint {
	t.Helper()
	stop := l.simulate(t, n)
	defer stop()
	blocks := l.countBlocks(t)
	file := filepath.Join(t.TempDir(), "r.json")
	var said stamped
	begun, watch := time.Now(), disturbance.Start()
	p := startBy(t, func(c *exec.Cmd) error { c.Stdout = &said; return c.Start() }, "coordinator", filepath.Join(bin, "redline"),
		"profile", "-m", "simple", "-i", "grpc", "-u", l.server.GRPC, "--workers", strconv.Itoa(n), "--nats", l.address, "--no-history", "-v", "--json", file,
		"--request-rate-range", strconv.Itoa(n*ratePerWorker), "-p", "1000", "-r", "4", "-s", "99999")
	p.wait(t)
	beside := watch.Stop()
	point := scalePoint{n: n, seconds: time.Since(begun).Seconds(), blocks: float64(blocks.Load())}
	in, out := l.messages(t)
	point.control = in + out - 2*point.blocks
	res := readResult(t, file)
	if (len(res.Levels) == 0 || len(res.Levels[0].Windows) == 0) && beside.Disturbed() {
		outcome.Inconclusive(t, fmt.Sprintf("%d workers measured nothing: %s; %s", n, res.Error, beside))
	}
	if len(res.Levels) == 0 || len(res.Levels[0].Workers) != n {
		t.Fatalf("%d workers: %s\n%s", n, res.Error, p.stderr.String())
	}
	if point.blocks == 0 {
		t.Errorf("the first of %d workers sent no block", n)
	}
	lv := &res.Levels[0]
	var requests uint64
	for i, m := range res.Fleet.Members {
		if m.Lost != "" && beside.Disturbed() {
			outcome.Inconclusive(t, fmt.Sprintf("of %d workers, %s was lost: %s; %s", n, m.Name, m.Lost, beside))
		}
		if m.Lost != "" {
			t.Errorf("of %d workers, %s was lost: %s", n, m.Name, m.Lost)
		}
		requests += lv.Workers[i].Requests
	}
	if requests != lv.Client.Requests || requests == 0 {
		t.Errorf("%d requests of all workers, %d in the level", requests, lv.Client.Requests)
	}
	point.merged = said.longest(t, lv)
	point.cpu = p.ProcessState.UserTime() + p.ProcessState.SystemTime()
	point.memory = float64(p.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024
	point.skew, point.clockError, point.rate = time.Duration(res.Fleet.StartSkewNs), time.Duration(res.Fleet.ClockErrorNs), lv.Client.SendRate
	return point
}

// perProcess is how many simulated workers are in one process.
const perProcess = 100

// simulate starts n workers in processes of their own and returns what ends them.
func (l *lab) simulate(t *testing.T, n int) (stop func()) {
	t.Helper()
	var list []*process
	for first := 0; first < n; first += perProcess {
		list = append(list, start(t, simulator, filepath.Join(self, simulator), l.address, strconv.Itoa(first), strconv.Itoa(min(perProcess, n-first))))
	}
	for _, p := range list {
		p.await(t, "all workers wait for runs")
	}
	return func() {
		for _, p := range list {
			p.kill()
		}
	}
}

// simulateWorkers is a process of n workers, which begin with a number. Each has a connection of its own to NATS.
func simulateWorkers(address string, first, n int) error {
	ready, failed := make(chan struct{}, n), make(chan error, n)
	for i := range n {
		name := fmt.Sprintf("simulated-%05d", first+i)
		bus, err := fleet.Dial(context.Background(), &plan.NATS{URL: address}, name, nil)
		if err != nil {
			return err
		}
		w := &fleet.Worker{
			Bus: bus, Prepare: nullShare, Folder: os.TempDir(), Free: func(string) (int64, error) { return 1 << 30, nil },
			Say:   func(format string, _ ...any) { signalReady(format, ready) },
			Hello: fleet.Hello{ID: name, Name: name, Version: "simulated", Protocol: fleet.Protocol, MaxProcs: 2},
		}
		go func() { failed <- w.Run(context.Background()) }()
	}
	for range n {
		<-ready
	}
	fmt.Println("all workers wait for runs")
	return <-failed
}

// signalReady tells that a worker waits for runs, when it says so.
func signalReady(format string, ready chan<- struct{}) {
	if strings.Contains(format, "waits for runs") {
		ready <- struct{}{}
	}
}

// nullShare is the share of a worker whose target answers at once.
func nullShare(hard context.Context, job *fleet.Job, collect run.Collect) (run.Load, error) {
	part := segment.Segment{Index: job.Index, Of: job.Of}
	r := &profile.Runner{
		Plan: job.Plan.With(func(p *plan.Plan) { p.Segment = part }), Service: &testkit.Service{Answer: func(int64) (time.Duration, error) { return 0, nil }},
		Model: &service.Model{Name: "null"}, Async: true, Source: func(int, int) engine.Source { return nullSource{} },
	}
	return r.Open(hard, collect)
}

type nullSource struct{}

func (nullSource) Next(*service.Call) {}

// countBlocks counts the blocks of the first worker.
func (l *lab) countBlocks(t *testing.T) *atomic.Int64 {
	t.Helper()
	nc, err := nats.Connect(l.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	var n atomic.Int64
	if _, err := nc.Subscribe("redline.records.*.*.*.0", func(*nats.Msg) { n.Add(1) }); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return &n
}

// messages are how many messages a worker sent and got, on average over the workers that are connected.
func (l *lab) messages(t *testing.T) (in, out float64) {
	t.Helper()
	_, text := testkit.Ask(t, http.MethodGet, "http://"+l.monitor+"/connz?limit=20000", nil)
	var list struct {
		Connections []struct {
			Name string `json:"name"`
			In   int64  `json:"in_msgs"`
			Out  int64  `json:"out_msgs"`
		} `json:"connections"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	workers := 0
	for _, c := range list.Connections {
		if strings.HasPrefix(c.Name, "redline simulated-") {
			workers++
			in += float64(c.In)
			out += float64(c.Out)
		}
	}
	if workers == 0 {
		t.Fatal("nats-server lists no worker")
	}
	return in / float64(workers), out / float64(workers)
}

// stamped keeps when each line about a window was printed.
type stamped struct {
	mu    sync.Mutex
	text  strings.Builder
	times []time.Time
}

func (s *stamped) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range strings.Count(string(b), "Pass [") {
		s.times = append(s.times, time.Now())
	}
	return s.text.Write(b)
}

// longest is the longest time from the end of a window until its line.
func (s *stamped) longest(t *testing.T, lv *result.Level) (most time.Duration) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.times) != len(lv.Windows) {
		t.Fatalf("%d lines about windows, %d windows:\n%s", len(s.times), len(lv.Windows), s.text.String())
	}
	for i, at := range s.times {
		most = max(most, at.Sub(time.Unix(0, lv.Windows[i].EndUnixNs)))
	}
	return most
}

// scaleTable is the points as a table, with a straight line fitted to each column.
func scaleTable(points []scalePoint) string {
	columns := []struct {
		head string
		of   func(p *scalePoint) float64
	}{
		{"requests/s", func(p *scalePoint) float64 { return p.rate }},
		{"run s", func(p *scalePoint) float64 { return p.seconds }},
		{"blocks/worker", func(p *scalePoint) float64 { return p.blocks }},
		{"control messages/worker", func(p *scalePoint) float64 { return p.control }},
		{"merged after ms", func(p *scalePoint) float64 { return float64(p.merged) / 1e6 }},
		{"coordinator CPU s", func(p *scalePoint) float64 { return p.cpu.Seconds() }},
		{"coordinator MiB", func(p *scalePoint) float64 { return p.memory }},
		{"start skew ms", func(p *scalePoint) float64 { return float64(p.skew) / 1e6 }},
		{"clock error ms", func(p *scalePoint) float64 { return float64(p.clockError) / 1e6 }},
	}
	var b strings.Builder
	b.WriteString("| workers |")
	for _, c := range columns {
		b.WriteString(" " + c.head + " |")
	}
	for i := range points {
		fmt.Fprintf(&b, "\n| %d |", points[i].n)
		for _, c := range columns {
			fmt.Fprintf(&b, " %.4g |", c.of(&points[i]))
		}
	}
	if len(points) < 2 {
		return b.String()
	}
	b.WriteString("\n| fitted, for n |")
	for _, c := range columns {
		at, slope := line(points, c.of)
		fmt.Fprintf(&b, " %.3g + %.3g·n |", at, slope)
	}
	return b.String()
}

// line is the straight line with the smallest squared error relative to the values: all sizes of fleets count equally.
func line(points []scalePoint, of func(*scalePoint) float64) (at, slope float64) {
	var k, x, y, xx, xy float64
	for i := range points {
		u, v := float64(points[i].n), of(&points[i])
		w := 1 / max(1e-9, v*v)
		k, x, y, xx, xy = k+w, x+w*u, y+w*v, xx+w*u*u, xy+w*u*v
	}
	slope = (k*xy - x*y) / (k*xx - x*x)
	return (y - slope*x) / k, slope
}
