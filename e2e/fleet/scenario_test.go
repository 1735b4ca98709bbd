//go:build linux

package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redline-bench/redline/internal/result"
)

// Two workers make the load of both classes of a scenario: each class has exactly its requests, divided exactly, and the whole is both.
func TestAScenarioOnAFleet(t *testing.T) {
	t.Parallel()
	l := open(t, 2)
	dir := t.TempDir()
	file, raw, scenario := filepath.Join(dir, "r.json"), filepath.Join(dir, "raw.csv"), filepath.Join(dir, "two.yaml")
	text := fmt.Sprintf(`
rate: 80
duration: 3s
arrivals: constant
classes:
  images:
    weight: 3
    profile: {model: simple, protocol: grpc, url: %q, warmup-request-count: 6}
    objectives: [error_rate<1%%]
  chat:
    weight: 1
    llm: {model: mock-llm, url: %q, streaming: true, output-tokens-mean: 4}
    objectives: [error_rate<1%%]
`, l.server.GRPC, l.server.Ports["openai"])
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "coordinator", filepath.Join(bin, "redline"), "run", scenario, "--workers", "2", "--nats", l.address, "--no-history", "--json", file, "--records", raw)
	if code := p.wait(t); code != 0 && code != 5 { // a busy machine may limit the client
		t.Fatalf("exit code %d", code)
	}
	res := readResult(t, file)
	const warm, images, chat = 6, 180, 60
	if n := len(l.logged(t)); n != warm+images+chat {
		t.Errorf("%d requests in the server's log, %d in the scenario with its warm-up", n, warm+images+chat)
	}
	if n := len(column(t, raw, "latency_ns")); n != images+chat {
		t.Errorf("%d records", n)
	}
	if len(res.Levels) != 2 || res.Whole == nil {
		t.Fatalf("%d levels", len(res.Levels))
	}
	check := func(name string, lv *result.Level, want uint64, parts ...uint64) {
		t.Helper()
		if lv.Class != name || lv.Client.Requests != want || len(lv.Workers) != 2 {
			t.Fatalf("%s: class %q has %d requests of %d and the workers %+v", name, lv.Class, lv.Client.Requests, want, lv.Workers)
		}
		for i, w := range lv.Workers {
			if w.Requests != parts[i] {
				t.Errorf("%s: worker %s sent %d requests, want %d", name, w.Name, w.Requests, parts[i])
			}
		}
	}
	check("images", &res.Levels[0], images, images/2, images/2)
	check("chat", &res.Levels[1], chat, chat/2, chat/2)
	check(res.Whole.Class, res.Whole, images+chat, (images+chat)/2, (images+chat)/2)
	var records uint64
	for _, m := range res.Fleet.Members {
		records += m.Records
	}
	if len(res.Fleet.Members) != 2 || records != warm+images+chat || res.Fleet.ClockErrorNs <= 0 {
		t.Errorf("fleet %+v", res.Fleet)
	}
	if res.Levels[1].Metric("time_to_first_token") == nil || res.Levels[0].Windows[0].StartUnixNs == 0 {
		t.Error("a class lacks its numbers")
	}
	if p.said("2 workers (0 lost)") == "" || l.workers[0].said("class chat: joined as worker") == "" {
		t.Error("the report has no line of the fleet, or the worker none of the class")
	}
}

// twoClasses starts a scenario with two classes on all workers.
func (l *lab) twoClasses(t *testing.T, duration string, args ...string) *process {
	t.Helper()
	scenario := filepath.Join(t.TempDir(), "two.yaml")
	class := fmt.Sprintf(`{profile: {model: simple, protocol: grpc, url: %q, concurrency-range: "2", duration: %s}}`, l.server.GRPC, duration)
	if err := os.WriteFile(scenario, []byte("classes:\n  one: "+class+"\n  two: "+class+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := append([]string{"run", scenario, "--workers", strconv.Itoa(len(l.workers)), "--nats", l.address, "--no-history"}, args...)
	return start(t, "coordinator", filepath.Join(bin, "redline"), all...)
}

// The workers stop the load of all classes when the coordinator was killed. A scenario cannot be taken up, and says so; its name can be made
// free.
func TestAKilledCoordinatorOfAScenario(t *testing.T) {
	t.Parallel()
	l := open(t, 1)
	p := l.twoClasses(t, "120s", "--run-name", "night")
	l.loaded(t, p, 50)
	p.kill()
	for _, class := range []string{"one", "two"} {
		l.workers[0].await(t, "run night, class "+class+": left: no heartbeat from the coordinator for 10s")
	}
	if err := l.attach(t, "night").run(99, "run night is of redline run, which cannot be taken up: remove it with 'redline attach night --drop' and start it again"); err != nil {
		t.Error(err)
	}
	if err := l.attach(t, "night", "--drop").run(0, ""); err != nil {
		t.Error(err)
	}
	if err := l.attach(t, "night").run(99, "there is no run night"); err != nil {
		t.Error(err)
	}
}

// A worker that hangs in the middle of a scenario is named once, and every class is marked.
func TestAHangingWorkerOfAScenario(t *testing.T) {
	t.Parallel()
	l := open(t, 2)
	file := filepath.Join(t.TempDir(), "r.json")
	p := l.twoClasses(t, "8s", "--json", file)
	l.loaded(t, p, 100)
	if err := l.workers[1].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.await(t, "worker w2 was lost")
	p.wait(t)
	if n := strings.Count(p.stderr.String(), "worker w2 was lost"); n != 1 {
		t.Errorf("the worker is named %d times", n)
	}
	res := readResult(t, file)
	if m := res.Fleet.Members; m[1].Lost == "" || m[0].Lost != "" || res.Verdict.State != result.ClientLimited {
		t.Errorf("members %+v, verdict %+v", m, res.Verdict)
	}
	for _, c := range res.Classes {
		if c.Verdict.State != result.ClientLimited {
			t.Errorf("class %s: %+v", c.Name, c.Verdict)
		}
	}
}
