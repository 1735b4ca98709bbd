// Package aiperf_test compares Redline's files with the programs whose files they stand in for: AIPerf and
// GenAI-Perf, from PyPI. Their own models must accept what Redline writes, their own commands must run on it, their
// numbers must be ours, and files of prompts must mean the same to both.
//
// What needs AIPerf is part of `make test-heavy`: AIPerf and what it needs take more than a gigabyte.
package aiperf_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// program is a Python environment.
type program struct {
	bin string
	env []string
}

// install makes the environment of a list of packages, once. AIPerf takes more than a gigabyte and is left to
// `make test-heavy`; GenAI-Perf takes a tenth of that.
func install(t *testing.T, list string) *program {
	t.Helper()
	if list == peers.AIPerf {
		outcome.HeavyOnly(t, "AIPerf and what it needs take more than a gigabyte")
	}
	dir, err := peers.InstallList(t.Context(), list)
	if err != nil {
		outcome.NotTested(t, "Redline's files beside those of "+list, err, "python3 with venv")
	}
	home := t.TempDir() // AIPerf writes its settings there
	return &program{
		bin: filepath.Join(dir, "bin"),
		env: append(os.Environ(), "HOME="+home, "HF_HUB_OFFLINE=1", "COLUMNS=200"),
	}
}

// run runs a command of the environment and returns what it printed on standard output.
func (p *program) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	cmd.Env = p.env
	var out, log strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s\n%s", name, strings.Join(args, " "), err, tail(out.String()), tail(log.String()))
	}
	return out.String()
}

// draws lets the program find chromium, with which AIPerf draws.
func (p *program) draws(t *testing.T) {
	t.Helper()
	path, err := peers.InstallChromium(t.Context())
	if err != nil {
		outcome.NotTested(t, "AIPerf's plots of Redline's files", err, "chromium")
	}
	p.env = append(p.env, "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"), "BROWSER_PATH="+path)
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

// decode reads the last line of a script's output.
func decode(t *testing.T, out string, v any) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), v); err != nil {
		t.Fatalf("%v in %s", err, tail(out))
	}
}

func TestAIPerfReadsTheFiles(t *testing.T) {
	p := install(t, peers.AIPerf)
	dir := filepath.Join(t.TempDir(), "run")
	want := record(t, dir, 400)
	var got struct {
		Schema, Model                                                         string
		Concurrency, Slices, Records, Errors, Raw, Events, Sessions, Compared int
		InputsAccepted                                                        bool `json:"inputs_accepted"`
		Different                                                             []string
	}
	decode(t, p.run(t, "python", "files.py", dir), &got)
	for _, d := range got.Different {
		t.Error(d)
	}
	if got.Schema != "1.4" || got.Model != "m" || got.Concurrency != 4 || got.Slices != 2 || got.Records != 400 || got.Errors != want.failed ||
		got.Raw != 400 || got.Events != want.events || got.Sessions != 200 || !got.InputsAccepted {
		t.Errorf("AIPerf read %+v; written were %+v", got, want)
	}
	if got.Compared < 150 {
		t.Errorf("only %d numbers compared", got.Compared)
	}
}

func TestAIPerfCommands(t *testing.T) {
	p := install(t, peers.AIPerf)
	dir := filepath.Join(t.TempDir(), "run")
	record(t, dir, 400)
	p.run(t, "aiperf", "analyze", "swim-lane", dir, "--html")
	p.run(t, "aiperf", "analyze", "turn-messages", dir)
	files := []string{"swim_lane.png", "swim_lane.html", "turn_messages.html"}
	p.draws(t)
	out := p.run(t, "aiperf", "plot", "--paths", dir)
	t.Log(tail(out))
	files = append(files, "plots/ttft_over_time.png", "plots/ttft_timeline.png", "plots/timeslices_ttft.png", "plots/timeslices_itl.png")
	for _, name := range files {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 1000 {
			t.Errorf("%s was not drawn: %v", name, err)
		}
	}
}

// Several runs, as levels of one search, are compared by AIPerf's plots.
func TestAIPerfPlotsLevels(t *testing.T) {
	p := install(t, peers.AIPerf)
	p.draws(t)
	root := t.TempDir()
	for _, c := range []int{1, 4, 8} {
		recordLevel(t, filepath.Join(root, "m-chat-concurrency"+string(rune('0'+c))), 60, c)
	}
	p.run(t, "aiperf", "plot", "--paths", root)
	found, err := filepath.Glob(filepath.Join(root, "plots", "*.png"))
	if err != nil || len(found) == 0 {
		t.Errorf("nothing was drawn: %v", err)
	}
}

func TestGenAIPerfReadsTheProfile(t *testing.T) {
	p := install(t, peers.GenAIPerf)
	dir, tokenizer := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "tokenizer")
	want := record(t, dir, 200)
	writeTokenizer(t, tokenizer)
	var got map[string]map[string]any
	decode(t, p.run(t, "python", "genai.py", filepath.Join(dir, "profile_export.json"), tokenizer), &got)
	for _, tag := range []string{"time_to_first_token", "time_to_second_token", "request_latency"} {
		for stat, ours := range want.stats(tag) {
			theirs, ok := got[tag][stat].(float64)
			if !ok || !near(theirs/1e6, ours) { // it computes in nanoseconds
				t.Errorf("%s.%s: %v, GenAI-Perf %v", tag, stat, ours, got[tag][stat])
			}
		}
	}
}

// A run of the program itself, from flags to files.
func TestARunOfTheProgram(t *testing.T) {
	p := install(t, peers.AIPerf)
	genai := install(t, peers.GenAIPerf)
	bin := binary.Built(t)
	dir, tokenizer := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "tokenizer")
	writeTokenizer(t, tokenizer)
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), "llm", "--embedded", "-m", "mock_llm", "--streaming", "--concurrency", "4",
		"--request-count", "80", "--isl", "100", "--osl", "20", "--conversation-turn-mean", "2", "--tokenizer", tokenizer,
		"--no-use-server-token-count", // as GenAI-Perf counts
		"--artifact-dir", dir, "--exports", "all", "--slice-duration", "1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, tail(string(out)))
	}
	var got struct {
		Records, Errors, Compared int
		InputsAccepted            bool `json:"inputs_accepted"`
		Different                 []string
	}
	decode(t, p.run(t, "python", "files.py", dir), &got)
	if got.Records != 80 || got.Errors != 0 || !got.InputsAccepted || len(got.Different) > 0 || got.Compared < 150 {
		t.Errorf("AIPerf read %+v", got)
	}
	p.run(t, "aiperf", "analyze", "swim-lane", dir)
	p.run(t, "aiperf", "analyze", "turn-messages", dir)
	agree(t, genai, dir, tokenizer)
}

// agree compares the averages that GenAI-Perf's parser finds in a folder with ours.
func agree(t *testing.T, genai *program, dir, tokenizer string) {
	t.Helper()
	var theirs map[string]struct{ Avg float64 }
	decode(t, genai.run(t, "python", "genai.py", filepath.Join(dir, "profile_export.json"), tokenizer), &theirs)
	var ours map[string]json.RawMessage
	text, err := os.ReadFile(filepath.Join(dir, "profile_export_aiperf.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &ours); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"time_to_first_token", "request_latency", "inter_token_latency", "output_sequence_length"} {
		var m struct{ Avg float64 }
		if err := json.Unmarshal(ours[tag], &m); err != nil {
			t.Fatal(err)
		}
		if tag != "output_sequence_length" {
			m.Avg *= 1e6 // it computes in nanoseconds
		}
		// Events of one read stand 100 ns apart in the profile, so that its readers do not divide by zero.
		if d := math.Abs(m.Avg - theirs[tag].Avg); d > 1000 {
			t.Errorf("%s: %v, GenAI-Perf %v", tag, m.Avg, theirs[tag].Avg)
		}
	}
}

// A KServe model over gRPC: perf_analyzer's file has tensors by name.
func TestGenAIPerfReadsAKServeProfile(t *testing.T) {
	genai := install(t, peers.GenAIPerf)
	bin := binary.Built(t)
	dir, tokenizer := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "tokenizer")
	writeTokenizer(t, tokenizer)
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redline"), "llm", "--embedded", "-i", "grpc", "-m", "ensemble", "--concurrency", "4",
		"--request-count", "40", "--isl", "30", "--osl", "8", "--tokenizer", tokenizer, "--artifact-dir", dir, "--exports", "summary,profile")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, tail(string(out)))
	}
	agree(t, genai, dir, tokenizer)
}
