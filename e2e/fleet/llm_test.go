//go:build linux

package fleet_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// lines reads a file of JSON lines.
func lines[T any](t *testing.T, file string) (out []T) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var v T
		if err := json.Unmarshal(scan.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// Two workers send each prompt of a file once. The report counts what the server counts, and its numbers are those of the records of
// both workers.
func TestALanguageModelOnAFleet(t *testing.T) {
	t.Parallel()
	const prompts, warm, tokens = 60, 5, 4
	l := open(t, 2)
	dir := t.TempDir()
	input, file := filepath.Join(dir, "prompts.jsonl"), filepath.Join(dir, "r.json")
	var want []string
	var text strings.Builder
	for i := range prompts {
		want = append(want, fmt.Sprintf("prompt number %d", i))
		fmt.Fprintf(&text, "{\"text\": %q}\n", want[i])
	}
	if err := os.WriteFile(input, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "coordinator", filepath.Join(bin, "redline"), "llm", "-m", "mock-llm", "-u", l.server.Ports["openai"], "--streaming", "--input-file", input, "--concurrency", "3",
		"--osl", fmt.Sprint(tokens), "--warmup-request-count", fmt.Sprint(warm), "--workers", "2", "--nats", l.address, "--no-history", "--json", file, "--artifact-dir", dir, "--exports", "records,raw")
	if code := p.wait(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	res := readResult(t, file)
	lv := res.Levels[0]
	if n := len(l.logged(t)); n != prompts+warm || lv.Client.Requests != prompts {
		t.Errorf("%d requests in the server's log, %d in the result; want %d with the warm-up, and %d", n, lv.Client.Requests, prompts+warm, prompts)
	}
	var sent []string
	for _, r := range lines[struct {
		Metadata struct {
			Phase string `json:"benchmark_phase"`
		} `json:"metadata"`
		Payload struct {
			Messages []struct{ Content string } `json:"messages"`
		} `json:"payload"`
	}](t, filepath.Join(dir, "profile_export_raw.jsonl")) {
		if r.Metadata.Phase == "profiling" {
			sent = append(sent, r.Payload.Messages[0].Content)
		}
	}
	slices.Sort(sent)
	slices.Sort(want)
	if !slices.Equal(sent, want) {
		t.Errorf("the prompts of the file were not each sent once: %q", sent)
	}
	var latencies []float64
	for _, r := range lines[struct {
		Metadata struct {
			Phase string `json:"benchmark_phase"`
		} `json:"metadata"`
		Metrics map[string]struct{ Value any } `json:"metrics"`
	}](t, filepath.Join(dir, "profile_export.jsonl")) {
		if v, ok := r.Metrics["request_latency"].Value.(float64); ok && r.Metadata.Phase == "profiling" {
			latencies = append(latencies, v)
		}
	}
	m := lv.Metric("request_latency")
	if len(latencies) != prompts || m == nil || !m.Distributed() {
		t.Fatalf("%d latencies, metric %+v", len(latencies), m)
	}
	sum := 0.0
	for _, v := range latencies {
		sum += v
	}
	for name, v := range map[string][2]float64{"avg": {m.Avg, sum / prompts}, "min": {m.Min, slices.Min(latencies)}, "max": {m.Max, slices.Max(latencies)}} {
		if math.Abs(v[0]-v[1]) > 1e-6*v[1] {
			t.Errorf("%s latency is %g ms, that of all records %g", name, v[0], v[1])
		}
	}
	if got := lv.Metric("total_osl"); got == nil || got.Avg != prompts*tokens {
		t.Errorf("output tokens: %+v, want %d", got, prompts*tokens)
	}
	if f := res.Fleet; f == nil || len(f.Members) != 2 || f.ClockErrorNs <= 0 || len(lv.Workers) != 2 || lv.Workers[0].Requests != prompts/3*2 || lv.Workers[1].Requests != prompts/3 {
		t.Errorf("fleet %+v, workers %+v", f, lv.Workers)
	}
}

// A search with the traffic of redline llm measures what all workers do together.
func TestFindLanguageModelOnAFleet(t *testing.T) {
	t.Parallel()
	l := open(t, 2)
	file := filepath.Join(t.TempDir(), "r.json")
	p := start(t, "coordinator", filepath.Join(bin, "redline"), "find", "llm", "-m", "mock-llm", "-u", l.server.Ports["openai"], "--streaming", "--osl", "4",
		"--by", "concurrency", "--highest", "3", "--slo", "ttft.p50<100s", "--settle", "500ms", "--probe-min", "1s", "--probe-max", "3s", "--confirm", "2s",
		"--workers", "2", "--nats", l.address, "--no-history", "--json", file)
	if code := p.wait(t); code != 0 || p.said("Capacity: at least 3 in flight") == "" || p.said("2 workers (0 lost)") == "" {
		t.Fatalf("exit code %d\n%s", code, p.stdout.String())
	}
	res := readResult(t, file)
	if res.Fleet == nil || len(res.Fleet.Members) != 2 || len(res.Levels) == 0 {
		t.Fatalf("fleet %+v, %d levels", res.Fleet, len(res.Levels))
	}
	last := res.Levels[len(res.Levels)-1]
	if last.Concurrency != 3 || last.Client.Requests == 0 || last.Metric("time_to_first_token") == nil || len(last.Workers) != 2 || last.Workers[0].Requests+last.Workers[1].Requests != last.Client.Requests {
		t.Errorf("concurrency %d, %d requests, workers %+v", last.Concurrency, last.Client.Requests, last.Workers)
	}
	if n := len(l.logged(t)); n < int(last.Client.Requests) {
		t.Errorf("%d requests in the server's log, %d in the last level alone", n, last.Client.Requests)
	}
}

// talk starts a run of redline llm on all workers.
func (l *lab) talk(t *testing.T, args ...string) *process {
	t.Helper()
	all := append([]string{
		"llm", "-m", "mock-llm", "-u", l.server.Ports["openai"], "--streaming", "--osl", "4", "--workers", strconv.Itoa(len(l.workers)), "--nats", l.address, "--no-history",
	}, args...)
	return start(t, "coordinator", filepath.Join(bin, "redline"), all...)
}

// A run of redline llm whose coordinator was killed goes on: the level that was over is kept, the next one follows.
func TestTakingALanguageModelRunUp(t *testing.T) {
	t.Parallel()
	l := open(t, 2)
	p := l.talk(t, "--run-name", "talk", "--concurrency", "1,2", "--benchmark-duration", "3", "--api-key", "hush-hush")
	if code := p.wait(t); code != 99 || p.said("--api-key: a secret is not sent to the workers without TLS") == "" {
		t.Fatalf("exit code %d", code)
	}
	p = l.talk(t, "--run-name", "talk", "--concurrency", "1,2", "--benchmark-duration", "3")
	p.await(t, "Time to First Token")
	l.loaded(t, p, len(l.logged(t))+10) // the next level has begun
	p.kill()
	file := filepath.Join(t.TempDir(), "r.json")
	a := l.attach(t, "talk", "--json", file)
	a.p.wait(t)
	res := readResult(t, file)
	if len(res.Levels) != 2 || res.Levels[0].Concurrency != 1 || res.Levels[1].Concurrency != 2 || res.Levels[0].Client.Requests == 0 || res.Levels[1].Client.Requests == 0 || len(res.Levels[1].Workers) != 2 {
		t.Errorf("levels %+v", res.Levels)
	}
	if a.p.said("run talk: levels that were over when its coordinator ended: 1") == "" {
		t.Error(a.p.stderr.String())
	}
	if err := l.attach(t, "talk").run(99, "there is no run talk"); err != nil {
		t.Error(err)
	}
}

// What the workers of a run of redline llm had sent when its coordinator was killed can be collected, all of it.
func TestCollectingALanguageModelRun(t *testing.T) {
	t.Parallel()
	l := open(t, 2)
	p := l.talk(t, "--run-name", "talk", "--concurrency", "2", "--benchmark-duration", "120")
	l.loaded(t, p, 100)
	p.kill()
	var sent int
	for _, w := range l.workers {
		n := acknowledged.FindStringSubmatch(w.await(t, "no heartbeat from the coordinator for 10s"))
		if n == nil {
			t.Fatalf("worker %s: %s", w.name, w.stderr.String())
		}
		count, _ := strconv.Atoi(n[1])
		sent += count
	}
	file := filepath.Join(t.TempDir(), "r.json")
	if err := l.attach(t, "talk", "--collect", "--json", file).run(130, "levels that were over when its coordinator ended: 0"); err != nil {
		t.Fatal(err)
	}
	res := readResult(t, file)
	if len(res.Levels) != 1 {
		t.Fatalf("%d levels", len(res.Levels))
	}
	lv := res.Levels[0]
	if n := int(lv.Client.Requests); n > sent || n < sent-2 || sent == 0 { // the requests in flight were canceled
		t.Errorf("%d records collected, %d acknowledged", n, sent)
	}
	if m := lv.Metric("time_to_first_token"); m == nil || m.Avg <= 0 || !lv.Unfinished {
		t.Errorf("time to first token %+v, unfinished %v", m, lv.Unfinished)
	}
}
