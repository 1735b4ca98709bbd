//go:build linux

// Package fleet_test runs fleets as their users do: worker processes, a coordinator process and a real nats-server process. It kills
// and cuts off each of them in the middle of a run.
package fleet_test

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/netns"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// bin has the built programs, self has the links to this program (see self_test.go).
var bin, self string

// The tests run in a network namespace, so that they can make others (see network_test.go).
func TestMain(m *testing.M) {
	runAsOther()
	binary.Main(func(dir, built string) (int, error) {
		if code, done, err := netns.Enter(built); done || err != nil {
			return code, err
		}
		bin, self = built, dir
		if err := linkSelf(dir); err != nil {
			return 0, err
		}
		return m.Run(), nil
	})
}

// patience limits each wait for something that happens much sooner.
const patience = testkit.Limit

// process is a program that the test started.
type process struct {
	*exec.Cmd
	name   string
	stderr binary.Buffer
	stdout binary.Buffer
	ended  chan struct{}
}

func start(t *testing.T, name, program string, args ...string) *process {
	t.Helper()
	return startBy(t, (*exec.Cmd).Start, name, program, args...)
}

// startBy starts a program by a function, such as that of a host of a network.
func startBy(t *testing.T, begin func(*exec.Cmd) error, name, program string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(program, args...), name: name, ended: make(chan struct{})}
	p.Stdout, p.Stderr, p.Dir = &p.stdout, &p.stderr, t.TempDir()
	exited := make(chan error, 1)
	if err := peers.StartBound(p.Cmd, begin, exited); err != nil {
		t.Fatal(err)
	}
	go func() {
		<-exited // the exit code says how
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s:\n%s%s", name, p.stdout.String(), p.stderr.String())
		}
	})
	return p
}

// kill ends the process as kill -9 does.
func (p *process) kill() {
	_ = p.Process.Kill() // it may have ended
	<-p.ended
}

// said is the first line that the process has printed with a text.
func (p *process) said(text string) string {
	for line := range strings.Lines(p.stderr.String() + p.stdout.String()) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// await waits until the process has printed a line with a text.
func (p *process) await(t *testing.T, text string) string {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if line := p.said(text); line != "" {
			return line
		}
		select {
		case <-p.ended:
			if p.said(text) == "" {
				t.Fatalf("%s ended and did not say %q:\n%s%s", p.name, text, p.stdout.String(), p.stderr.String())
			}
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not say %q:\n%s%s", p.name, text, p.stdout.String(), p.stderr.String())
		}
	}
}

// wait waits for the end of the process and returns its exit code.
func (p *process) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("%s does not end:\n%s%s", p.name, p.stdout.String(), p.stderr.String())
	}
	return p.ProcessState.ExitCode()
}

// lab is a NATS server, a server to load and workers.
type lab struct {
	nats    *process
	natsRun func() *process
	address string // of NATS
	monitor string // address of the page with the figures of nats-server
	server  *binary.Server
	log     string // of the server's requests
	workers []*process
	options []string // with which clients connect to NATS
}

func open(t *testing.T, workers int, serve ...string) *lab {
	t.Helper()
	l := &lab{log: filepath.Join(t.TempDir(), "requests.jsonl")}
	listen, store := testkit.Port(t), t.TempDir()
	l.monitor = testkit.Port(t)
	port := func(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
	l.address = "nats://u:p@" + listen
	l.natsRun = func() *process {
		p := start(t, natsServer, filepath.Join(self, natsServer), "-a", "127.0.0.1", "-p", port(listen), "-m", port(l.monitor), "-js", "-sd", store, "--user", "u", "--pass", "p")
		p.await(t, "Server is ready")
		return p
	}
	l.nats = l.natsRun()
	var err error
	if l.server, err = binary.StartServer(t.TempDir(), bin, append(serve, "--request-log", l.log)...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.server.Stop)
	for i := range workers {
		l.worker(t, fmt.Sprintf("w%d", i+1), l.address)
	}
	return l
}

func (l *lab) worker(t *testing.T, name, address string) *process {
	t.Helper()
	w := start(t, name, filepath.Join(bin, "redline"), append([]string{"worker", "--nats", address, "--name", name}, l.options...)...)
	w.await(t, "waits for runs")
	l.workers = append(l.workers, w)
	return w
}

// profile starts a run on all workers.
func (l *lab) profile(t *testing.T, args ...string) *process {
	t.Helper()
	all := append([]string{
		"profile", "-m", "simple", "-i", "grpc", "-u", l.server.GRPC, "--workers", strconv.Itoa(len(l.workers)), "--nats", l.address, "--no-history", "-v",
	}, slices.Concat(l.options, args)...)
	return start(t, "coordinator", filepath.Join(bin, "redline"), all...)
}

// logged are the times of the server's requests, in its own clock.
func (l *lab) logged(t *testing.T) []int64 {
	t.Helper()
	f, err := os.Open(l.log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []int64
	for scan := bufio.NewScanner(f); scan.Scan(); {
		var line struct {
			Received int64 `json:"received_ns"`
		}
		if err := json.Unmarshal(scan.Bytes(), &line); err == nil && line.Received > 0 {
			out = append(out, line.Received)
		}
	}
	return out
}

func readResult(t *testing.T, file string) *result.Result {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	res := &result.Result{}
	if err := json.Unmarshal(b, res); err != nil {
		t.Fatal(err)
	}
	return res
}

// Three workers send each request of the plan once; percentiles are those of all raw records; the starts lie within the stated skew.
func TestThreeWorkersOnARealNATSServer(t *testing.T) {
	t.Parallel()
	l := open(t, 3)
	file, raw := filepath.Join(t.TempDir(), "r.json"), filepath.Join(t.TempDir(), "raw.csv")
	p := l.profile(t, "--request-rate-range", "200", "--request-count", "600", "--records", raw, "--json", file, "--assert", "requests>=600")
	if code := p.wait(t); code == 4 {
		t.Error("the rule is not about the requests of all workers together")
	}
	res := readResult(t, file)
	lv := res.Levels[0]
	if lv.Client.Requests != 600 || len(l.logged(t)) != 600 {
		t.Errorf("%d requests in the result, %d in the server's log, 600 in the plan", lv.Client.Requests, len(l.logged(t)))
	}
	percentilesOf(t, &lv, raw)
	if f := res.Fleet; f == nil || len(f.Members) != 3 || f.ClockErrorNs <= 0 || f.StartSkewNs < 0 {
		t.Errorf("fleet %+v", f)
	}
	for _, w := range lv.Workers {
		if w.Requests != 200 {
			t.Errorf("worker %s sent %d of its 200 requests", w.Name, w.Requests)
		}
	}
}

// percentilesOf checks that the percentiles of a level are those of all raw records.
func percentilesOf(t *testing.T, lv *result.Level, raw string) {
	t.Helper()
	var sample stats.Sample[int64]
	for _, v := range column(t, raw, "latency_ns") {
		sample.Add(v)
	}
	if len(lv.Client.Sent.Quantiles) == 0 {
		t.Error("the level has no percentiles")
	}
	for _, q := range lv.Client.Sent.Quantiles {
		if want := float64(sample.Quantiles(q.P)[0]); q.V != want {
			t.Errorf("p%g is %g, of all raw records %g", q.P, q.V, want)
		}
	}
}

// column reads a column of numbers of a CSV file.
func column(t *testing.T, file, name string) []int64 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatal(err)
	}
	at := slices.Index(rows[0], name)
	var out []int64
	for _, row := range rows[1:] {
		n, err := strconv.ParseInt(row[at], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

// loaded waits until the server has received n requests of a coordinator's run.
func (l *lab) loaded(t *testing.T, coordinator *process, n int) {
	t.Helper()
	for end := time.Now().Add(patience); len(l.logged(t)) < n; time.Sleep(20 * time.Millisecond) {
		select {
		case <-coordinator.ended:
			if got := len(l.logged(t)); got < n {
				t.Fatalf("the run ended when the server had %d requests", got)
			}
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("the server has %d requests", len(l.logged(t)))
		}
	}
}

// A worker that is killed is noticed and named, and the run goes on without its share.
func TestAKilledWorkerIsNamed(t *testing.T) {
	t.Parallel()
	l := open(t, 2)
	file := filepath.Join(t.TempDir(), "r.json")
	p := l.profile(t, "--concurrency-range", "2", "--duration", "8s", "--json", file)
	l.loaded(t, p, 50)
	l.workers[1].kill()
	p.await(t, "worker w2 was lost")
	p.wait(t)
	res := readResult(t, file)
	if m := res.Fleet.Members; m[1].Lost == "" || m[0].Lost != "" || res.Verdict.State != result.ClientLimited || !strings.Contains(fmt.Sprint(res.Verdict), "worker w2: was lost") {
		t.Errorf("members %+v, verdict %+v", m, res.Verdict)
	}
}

// A NATS server that is killed and started again costs no record: each request that the server got is in the result.
func TestARestartedNATSServerLosesNothing(t *testing.T) {
	t.Parallel()
	l := open(t, 2)
	file := filepath.Join(t.TempDir(), "r.json")
	p := l.profile(t, "--request-rate-range", "100", "--request-count", "600", "--json", file)
	l.loaded(t, p, 150)
	watch := disturbance.Start()
	l.nats.kill()
	l.nats = l.natsRun()
	p.wait(t)
	l.complete(t, file, 600, watch.Stop())
}

// complete checks that every request of the plan is in the result, and that no worker was lost. A worker counts as lost after some
// seconds; on a disturbed machine that proves nothing.
func (l *lab) complete(t *testing.T, file string, want int, beside disturbance.Report) {
	t.Helper()
	res := readResult(t, file)
	for _, m := range res.Fleet.Members {
		if m.Lost != "" && beside.Disturbed() {
			outcome.Inconclusive(t, fmt.Sprintf("worker %s was lost: %s; %s", m.Name, m.Lost, beside))
		}
		if m.Lost != "" {
			t.Errorf("worker %s was lost: %s", m.Name, m.Lost)
		}
	}
	if len(res.Levels) != 1 {
		t.Fatalf("%d levels: %s", len(res.Levels), res.Error)
	}
	if n := len(l.logged(t)); int(res.Levels[0].Client.Requests) != want || n != want {
		t.Errorf("%d requests in the result, %d in the server's log, %d in the plan: %s", res.Levels[0].Client.Requests, n, want, res.Error)
	}
}

// A worker that is cut off for 3 s stays in the run, and its records come when the network is back.
func TestACutOfThreeSecondsLosesNothing(t *testing.T) {
	t.Parallel()
	l := open(t, 1)
	cut := newCut(t, strings.TrimPrefix(l.address, "nats://u:p@"))
	l.worker(t, "w2", "nats://u:p@"+cut.address)
	file := filepath.Join(t.TempDir(), "r.json")
	p := l.profile(t, "--request-rate-range", "100", "--request-count", "600", "--json", file)
	l.loaded(t, p, 100)
	watch := disturbance.Start()
	cut.off()
	time.Sleep(3 * time.Second) // the length of the cut is what is tested
	cut.on()
	p.wait(t)
	l.complete(t, file, 600, watch.Stop())
}

// A worker waits for the NATS server that the command starts in its own process. The run of a command that was killed can be taken up from the
// files of that server.
func TestAnEmbeddedNATSServer(t *testing.T) {
	t.Parallel()
	l := open(t, 0)
	listen, cache := testkit.Port(t), t.TempDir()
	w := start(t, "worker", filepath.Join(bin, "redline"), "worker", "--nats", "nats://"+listen, "--name", "w1")
	w.await(t, "no NATS server answers at nats://"+listen+" yet; waiting for it")
	redline := func(args ...string) *process {
		return start(t, "coordinator", "env", append([]string{"XDG_CACHE_HOME=" + cache, filepath.Join(bin, "redline")}, append(args, "--nats", "embedded://"+listen, "--no-history")...)...)
	}
	p := redline("profile", "-m", "simple", "-i", "grpc", "-u", l.server.GRPC, "--concurrency-range", "1:2", "--duration", "2s", "--workers", "1", "--run-name", "night", "-v")
	p.await(t, "Request concurrency: 2")
	p.kill()
	file := filepath.Join(t.TempDir(), "r.json")
	p = redline("attach", "night", "--json", file)
	p.await(t, "levels that were over when its coordinator ended: 1")
	p.wait(t)
	if res := readResult(t, file); len(res.Levels) != 2 || len(res.Levels[1].Workers) != 1 || p.said("1 worker (0 lost)") == "" {
		t.Errorf("%d levels, %+v", len(res.Levels), res.Fleet)
	}
}

// Wrong credentials, and a name that another coordinator has, are one line each.
func TestRefusalsOfARealNATSServer(t *testing.T) {
	t.Parallel()
	l := open(t, 1)
	wrong := strings.Replace(l.address, "u:p@", "u:hush@", 1)
	refused := func(p *process, want string) {
		t.Helper()
		code := p.wait(t)
		if text := p.stderr.String(); code != 99 || !strings.Contains(text, want) || strings.Count(text, "\n") != 1 || strings.Contains(text, "hush") {
			t.Errorf("exit code %d, %q", code, text)
		}
	}
	redline := filepath.Join(bin, "redline")
	refused(start(t, "worker", redline, "worker", "--nats", wrong), "redline worker: the NATS server at nats://***@")
	refused(start(t, "coordinator", redline, "profile", "-m", "simple", "-u", l.server.HTTP, "--workers", "1", "--nats", wrong, "--no-history"), "refuses these credentials: check the user and password in --nats")
	p := l.profile(t, "--run-name", "night", "--duration", "60s")
	l.loaded(t, p, 10)
	refused(l.profile(t, "--run-name", "night"), "run night is in progress: a coordinator on ")
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(t); code != 130 {
		t.Errorf("exit code %d after an interrupt", code)
	}
}

var acknowledged = regexp.MustCompile(`(\d+) records? acknowledged`)

// The workers stop when their coordinator was killed. What they had sent can be collected, all of it, or the run goes on.
func TestAKilledCoordinator(t *testing.T) {
	t.Parallel()
	l := open(t, 2)
	name := func(run string) []string {
		return []string{"--run-name", run, "--concurrency-range", "2", "--duration", "120s"}
	}
	p := l.profile(t, name("night")...)
	l.loaded(t, p, 200)
	p.kill()
	killed := time.Now().UnixNano()
	var sent int
	for _, w := range l.workers {
		line := w.await(t, "no heartbeat from the coordinator for 10s")
		n := acknowledged.FindStringSubmatch(line)
		if n == nil {
			t.Fatalf("worker %s: %s", w.name, line)
		}
		count, _ := strconv.Atoi(n[1])
		sent += count
	}
	if last := slices.Max(l.logged(t)); time.Duration(last-killed) > time.Minute { // internal/fleet has the exact time, simulated
		t.Errorf("the server was loaded for %s after the death of the coordinator", time.Duration(last-killed))
	}
	if err := l.attach(t, "again").run(99, "there is no run again"); err != nil {
		t.Error(err)
	}
	if err := l.attach(t, "night", "--collect", "--json", filepath.Join(t.TempDir(), "none", "r.json")).run(99, "no such file"); err != nil {
		t.Error(err) // and the records are still there
	}
	file := filepath.Join(t.TempDir(), "r.json")
	if err := l.attach(t, "night", "--collect", "--json", file).run(130, "levels that were over when its coordinator ended: 0"); err != nil {
		t.Fatal(err)
	}
	res := readResult(t, file)
	if n := int(res.Levels[0].Client.Requests); n > sent || n < sent-2 || sent == 0 { // the requests in flight were canceled
		t.Errorf("%d records collected, %d acknowledged", n, sent)
	}
}

// attempt is a start of redline attach.
type attempt struct {
	t *testing.T
	p *process
}

func (l *lab) attach(t *testing.T, args ...string) attempt {
	t.Helper()
	return attempt{t, start(t, "attach", filepath.Join(bin, "redline"), append([]string{"attach", "--nats", l.address, "--no-history"}, args...)...)}
}

func (a attempt) run(code int, says string) error {
	if got := a.p.wait(a.t); got != code || !strings.Contains(a.p.stderr.String(), says) {
		return fmt.Errorf("exit code %d instead of %d, or no %q:\n%s", got, code, says, a.p.stderr.String())
	}
	return nil
}

// A run whose coordinator was killed goes on: the level that was over is kept, the others follow.
func TestTakingARunUp(t *testing.T) {
	t.Parallel()
	l := open(t, 2)
	p := l.profile(t, "--run-name", "long", "--concurrency-range", "1:2", "--duration", "3s")
	p.await(t, "Request concurrency: 2")
	p.kill()
	file := filepath.Join(t.TempDir(), "r.json")
	a := l.attach(t, "long", "--json", file)
	a.p.wait(t)
	res := readResult(t, file)
	if len(res.Levels) != 2 || res.Levels[0].Concurrency != 1 || res.Levels[1].Concurrency != 2 || res.Levels[1].Client.Requests == 0 {
		t.Errorf("levels %+v", res.Levels)
	}
	if !strings.Contains(a.p.stderr.String(), "run long: levels that were over when its coordinator ended: 1") {
		t.Error(a.p.stderr.String())
	}
}

// A search measures what all workers do together. Each request takes 50 ms, so that two in flight cannot be more than 40 a second.
func TestFindOnAFleet(t *testing.T) {
	t.Parallel()
	l := open(t, 2, "--delay", "simple=50ms")
	file := filepath.Join(t.TempDir(), "r.json")
	p := start(t, "coordinator", filepath.Join(bin, "redline"), "find", "profile", "-m", "simple", "-i", "grpc", "-u", l.server.GRPC,
		"--by", "concurrency", "--highest", "2", "--slo", "p50<100s", "--settle", "500ms", "--probe-min", "1s", "--probe-max", "3s", "--confirm", "2s",
		"--workers", "2", "--nats", l.address, "--no-history", "--json", file)
	if code := p.wait(t); code != 0 || p.said("Capacity: at least 2 in flight") == "" || p.said("2 workers (0 lost)") == "" {
		t.Fatalf("exit code %d\n%s", code, p.stdout.String())
	}
	res := readResult(t, file)
	if res.Fleet == nil || len(res.Fleet.Members) != 2 || len(res.Levels) == 0 {
		t.Fatalf("fleet %+v, %d levels", res.Fleet, len(res.Levels))
	}
	for _, lv := range res.Levels {
		took := time.Duration(lv.Client.DurationNs).Seconds()
		if most := float64(lv.Concurrency) * (took/0.05 + 1); float64(lv.Client.Requests) > most {
			t.Errorf("%d requests in %.2f s, more than %.0f", lv.Client.Requests, took, most)
		}
		if len(lv.Workers) != 2 {
			t.Errorf("workers %+v", lv.Workers)
		}
	}
}

// cut is a way to a server that can be interrupted.
type cut struct {
	address string
	off, on func()
}

func newCut(t *testing.T, to string) *cut {
	t.Helper()
	ln := testkit.Listen(t, "127.0.0.1:0")
	gate := make(chan struct{}, 1) // holds a value while bytes pass
	gate <- struct{}{}
	pass := func() { gate <- <-gate }
	carry := func(from, to net.Conn) {
		defer from.Close()
		defer to.Close()
		b := make([]byte, 64<<10)
		for {
			n, err := from.Read(b)
			if err != nil {
				return
			}
			pass()
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
	}
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				pass()
				out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", to)
				if err != nil {
					in.Close()
					return
				}
				go carry(in, out)
				carry(out, in)
			}()
		}
	}()
	return &cut{address: ln.Addr().String(), off: func() { <-gate }, on: func() { gate <- struct{}{} }}
}
