package llm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/fleet"
	"github.com/redline-bench/redline/internal/secret"
)

// taskOf is what the workers of a command line get.
func taskOf(t *testing.T, line string) *fleet.Task {
	t.Helper()
	read, err := read(strings.Fields(line), &secret.Set{})
	if err != nil {
		t.Fatal(err)
	}
	r := &session{traffic: read}
	r.IO = &command.IO{Getenv: func(string) string { return "" }}
	task, err := r.task()
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// workerPlan is the plan that a worker carries out.
func workerPlan(t *testing.T, task *fleet.Task) *Plan {
	t.Helper()
	got, err := readAgain(task.Own, task.Secrets, &secret.Set{})
	if err != nil {
		t.Fatal(err)
	}
	return got.opts
}

// Workers get the plan of the load. It says nothing of reports and of the fleet, and its secrets come apart.
func TestWhatWorkersGet(t *testing.T) {
	task := taskOf(t, "-m m -u h:1 --concurrency 4 --api-key s3cret --until ttft.p99±5% --workers 2 --nats nats://n:1 --json r.json --exports raw --label x --assert p99<1s")
	if strings.Contains(string(task.Own), "s3cret") {
		t.Errorf("the plan has a secret: %s", task.Own)
	}
	if d := cmp.Diff([]string{"--api-key"}, task.Names); d != "" {
		t.Error(d)
	}
	want, err := read(strings.Fields("-m m -u h:1 --concurrency 4 --api-key s3cret --until ttft.p99±5%"), &secret.Set{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.opts.forWorkers(), workerPlan(t, task)); d != "" {
		t.Error(d)
	}
	two := taskOf(t, "-m m -u http://u:hush@a:1 -u http://b:2 --header Authorization:hush --header x:y --workers 2")
	if strings.Contains(string(two.Own), "hush") {
		t.Errorf("the plan has a secret: %s", two.Own)
	}
	p := workerPlan(t, two)
	if d := cmp.Diff([]string{"http://u:hush@a:1", "http://b:2"}, p.URLs); d != "" || len(p.Headers) != 2 {
		t.Error(d, p.Headers)
	}
}

// Files that the options name are sent; of a tokenizer's folder only what belongs to the tokenizer.
func TestFilesOfWorkers(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"p.jsonl", "tok/tokenizer.json", "tok/model.safetensors", "tok/chat_template.jinja", "sys"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	task := taskOf(t, "-m tok --input-file payload:p.jsonl --tokenizer tok --system-prompt-file sys --workers 2")
	if d := cmp.Diff([]string{"p.jsonl", "tok/tokenizer.json", "tok/chat_template.jinja", "sys"}, task.Files); d != "" {
		t.Error(d)
	}
	if p := workerPlan(t, task); p.Model != "tok" || p.Data.Path != "p.jsonl" || p.Data.Format != "payload" || p.Tokenizer != "tok" || p.SystemFile != "sys" {
		t.Errorf("%+v", p)
	}
}

// What workers cannot do is refused in one line.
func TestWhatWorkersCannotDo(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		if _, err := parseLLM(t, "-m m "+line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", line, err)
		}
	}
	f("--workers 2 --segment 1/2", "--segment is one part of a load that you divide yourself")
	f("--workers 2 --calibrate --streaming", "--calibrate measures this machine's error")
	f("--workers 2 --trace-requests 5 --otlp h:1", "--trace-requests cannot be used with --workers")
	f("--workers 0", "is a number of workers")
	f("--run-name night", "--run-name is for --workers")
	if _, err := ReadCalibration(nil, []string{"-m", "m", "--streaming", "--workers", "2"}, &secret.Set{}); err == nil || !strings.Contains(err.Error(), "a calibration makes its load on one machine") {
		t.Errorf("a calibration: %v", err)
	}
	if _, err := NewProber(&command.IO{Secrets: &secret.Set{}}, []string{"-m", "m", "--run-name", "night"}); err == nil || !strings.Contains(err.Error(), "--run-name is for --workers") {
		t.Errorf("a search: %v", err)
	}
}
