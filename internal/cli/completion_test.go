package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// script writes a completion script and returns its path; the test ends where the shell is not installed.
func script(t *testing.T, shell string) string {
	t.Helper()
	var out bytes.Buffer
	if code := Main(&command.IO{Args: []string{"redline", "completion", shell}, Stdout: &out, Stderr: &out}); code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, out.String())
	}
	if _, err := exec.LookPath(shell); err != nil {
		outcome.NotTested(t, "completion in "+shell, err, shell)
	}
	path := filepath.Join(t.TempDir(), "redline."+shell)
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestScriptsParse(t *testing.T) {
	for _, shell := range option.Shells() {
		t.Run(shell, func(t *testing.T) {
			path := script(t, shell)
			if out, err := exec.CommandContext(t.Context(), shell, "-n", path).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestBashCompletes asks a real bash what it would offer.
func TestBashCompletes(t *testing.T) {
	path := script(t, "bash")
	dir := t.TempDir()
	for _, name := range []string{"run one.csv", "run.json", "zeros"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "models"), 0o755); err != nil {
		t.Fatal(err)
	}
	// The last word is the one being completed. Readline splits words at "=".
	f := func(words string, want ...string) {
		t.Helper()
		const ask = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _redline "$1" "${COMP_WORDS[COMP_CWORD]}"; printf '%s\n' "${COMPREPLY[@]}"`
		args := append([]string{"--norc", "-c", ask, "bash", path}, strings.Split(words, " ")...)
		cmd := exec.CommandContext(t.Context(), "bash", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", words, err)
		}
		got := strings.Split(strings.TrimSpace(string(out)), "\n")
		slices.Sort(got)
		if len(want) == 0 {
			want = []string{""}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", words, d)
		}
	}
	f("redline pro", "profile")
	f("redline c", "calibrate", "compare", "completion")
	f("redline completion f", "fish")
	f("redline help s", "serve", "simple", "stress", "synthesize-trace")
	f("redline llm --endpoint-type cha", "chat", "chat_embeddings")
	f("redline llm --isl-s", "--isl-stddev")
	f("redline llm --stream", "--streaming") // --stream is AIPerf's
	f("redline simple -i g", "gRPC")
	f("redline simple -i ", "HTTP", "gRPC")
	f("redline stress s", "sequence")
	f("redline stress sequence --cha", "--chaos", "--chaos-down")
	f("redline serve --model-repository ", "models")
	f("redline calibrate p", "profile")
	f("redline version ", "--json")
	f("redline profile --measurement-m", "--measurement-mode")
	f("redline profile --measurement-mode ", "count_windows", "time_windows")
	f("redline profile --measurement-mode = c", "count_windows")
	f("redline profile --measurement-mode =", "count_windows", "time_windows")
	f("redline profile -i g", "grpc")
	f("redline profile --embedded", "--embedded", "--embedded-arg")
	f("redline profile -m ")
	f("redline profile -f run", "run one.csv", "run.json")
	f("redline profile --input-data z", "zero", "zeros")
	f("redline profile --data-directory ", "models")
	f("perf_analyzer --embedded")
	f("/opt/bin/perf_analyzer --service-kind t", "tfserving", "torchserve", "triton", "triton_c_api")
	f("perf_analyzer --ssl-https-verify-p", "--ssl-https-verify-peer")
}
