//go:build linux

package fleet_test

import (
	"fmt"
	"os"
	"path/filepath"
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

// A worker that is killed in the middle of a scenario is named once, and every class is marked.
func TestAKilledWorkerOfAScenario(t *testing.T) {
	t.Parallel()
	l := open(t, 2)
	dir := t.TempDir()
	file, scenario := filepath.Join(dir, "r.json"), filepath.Join(dir, "two.yaml")
	text := fmt.Sprintf(`
classes:
  one: {profile: {model: simple, protocol: grpc, url: %[1]q, concurrency-range: "2", duration: 8s}}
  two: {profile: {model: simple, protocol: grpc, url: %[1]q, concurrency-range: "2", duration: 8s}}
`, l.server.GRPC)
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "coordinator", filepath.Join(bin, "redline"), "run", scenario, "--workers", "2", "--nats", l.address, "--no-history", "--json", file)
	l.loaded(t, 100)
	l.workers[1].kill()
	p.await(t, "worker w2 was lost")
	p.wait(t)
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
