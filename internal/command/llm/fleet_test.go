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
	r := &run{traffic: read}
	r.IO = &command.IO{Getenv: func(string) string { return "" }}
	task, err := r.task()
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// Workers get the options of the load. They get no options of reports and of the fleet, and secrets apart.
func TestWhatWorkersGet(t *testing.T) {
	task := taskOf(t, "-m m -u h:1 --concurrency 4 --api-key s3cret --until ttft.p99±5% --workers 2 --nats nats://n:1 --json r.json --exports raw --label x --assert p99<1s")
	if d := cmp.Diff([]string{"--model=m", "--url=h:1", "--concurrency=4", "--api-key=***", "--until=ttft.p99±5%"}, task.Options); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"--api-key"}, task.Names); d != "" {
		t.Error(d)
	}
	job := fleet.Job{Options: task.Options, Secrets: task.Secrets}
	if d := cmp.Diff([]string{"--model=m", "--url=h:1", "--concurrency=4", "--api-key=s3cret", "--until=ttft.p99±5%"}, job.Given()); d != "" {
		t.Error(d)
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
	if d := cmp.Diff([]string{"--input-file=p.jsonl", "--tokenizer=tok", "--system-prompt-file=sys"}, task.Inputs); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"p.jsonl", "tok/tokenizer.json", "tok/chat_template.jinja", "sys"}, task.Files); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"--model=tok", "--input-file=p.jsonl", "--tokenizer=tok", "--system-prompt-file=sys", "--custom-dataset-type=payload"}, task.Options); d != "" {
		t.Error(d)
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
	if _, err := NewProber(&command.IO{Secrets: &secret.Set{}}, []string{"-m", "m", "--workers", "2"}); err == nil || !strings.Contains(err.Error(), "makes its load on one machine") {
		t.Errorf("a search: %v", err)
	}
}
