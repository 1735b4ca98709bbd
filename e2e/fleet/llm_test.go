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
	if len(latencies) != prompts || m == nil || m.Dist == nil {
		t.Fatalf("%d latencies, metric %+v", len(latencies), m)
	}
	sum := 0.0
	for _, v := range latencies {
		sum += v
	}
	for name, v := range map[string][2]float64{"avg": {m.Avg, sum / prompts}, "min": {m.Dist.Min, slices.Min(latencies)}, "max": {m.Dist.Max, slices.Max(latencies)}} {
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
