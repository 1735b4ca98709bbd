// Package heavy_test runs programs that use perf_analyzer, with Redline as their perf_analyzer: GenAI-Perf and Model Analyzer, from PyPI.
// Each must end normally, and its reports must be complete.
//
// The servers are the real Triton of e2e/peers and `redline serve`. `make test` runs one case of GenAI-Perf, `make
// test-heavy` all: each start of the programs takes many seconds of Python. They are installed once into the cache
// folder, at the versions of genai-perf.txt and model-analyzer.txt.
package heavy_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// program is a Python program whose perf_analyzer is Redline.
type program struct {
	path   string   // of the executable
	lead   []string // arguments before all others
	env    []string
	search string // where the program finds others
}

// install installs a program of a list and ends the test where it cannot be installed.
func install(t *testing.T, name, list string) *program {
	t.Helper()
	dir, err := peers.InstallList(t.Context(), list)
	if err != nil {
		outcome.NotTested(t, "Redline as the perf_analyzer of "+name, err, "python3 with venv")
	}
	bin := binary.Built(t)
	search := bin + ":" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")
	return &program{
		path:   filepath.Join(dir, "bin", name),
		search: search,
		env:    append(os.Environ(), "PATH="+search, "HF_HUB_OFFLINE=1", "COLUMNS=200"),
	}
}

// run runs the program in dir and returns all that it printed. If it failed because Triton crashed in the process of perf_analyzer, it
// runs again. An exit code other than 0 fails the test.
func (p *program) run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	var out string
	var err error
	peers.RepeatCrashed(t, func() string {
		if out, err = p.once(t, dir, args...); err != nil {
			return out
		}
		return ""
	})
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(p.path), strings.Join(args, " "), err, last(out, 60))
	}
	return out
}

// once runs the program in dir, for at most 20 minutes.
func (p *program) once(t *testing.T, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, slices.Concat(p.lead, args)...)
	cmd.Dir, cmd.Env = dir, p.env
	// A group of its own, so that a program that hangs goes with all that it started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// triton is how to start the real server, on its own or by a program.
type triton struct{ launcher, models string }

// newTriton makes a launcher of the server and a repository of the models of the conformance tests and those here.
func newTriton(t *testing.T) (*triton, *peers.Peers) {
	t.Helper()
	p, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "programs that drive perf_analyzer on the real Triton", err, "python3 with venv")
	}
	dir := t.TempDir()
	s := &triton{launcher: filepath.Join(dir, "tritonserver"), models: filepath.Join(dir, "models")}
	for _, from := range []string{"e2e/models", "e2e/heavy/models"} {
		if err := peers.Repository(filepath.Join(binary.Root(), filepath.FromSlash(from)), s.models); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\nexec '" + filepath.Join(p.Dir, "tritonserver") + "' --disable-auto-complete-config --allow-gpu-metrics=false" +
		" --http-address=127.0.0.1 --grpc-address=127.0.0.1 --metrics-address=127.0.0.1 --exit-timeout-secs=5" +
		" --backend-config=python,shm-default-byte-size=1048576 --backend-config=python,shm-growth-byte-size=1048576" +
		" --backend-config=python,shm-region-prefix-name=redline_$$_ \"$@\"\n"
	write(t, s.launcher, script)
	if err := os.Chmod(s.launcher, 0o755); err != nil {
		t.Fatal(err)
	}
	return s, p
}

// ports are where a server listens.
type ports struct{ http, grpc, metrics int }

func freePorts(t *testing.T) ports {
	t.Helper()
	p, err := peers.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	return ports{p[0], p[1], p[2]}
}

// start starts the server in explicit mode with some models loaded. It ends with the test. Its Python backend gives up
// when a helper is slow to come up, as on a busy machine: then once more.
func (s *triton) start(t *testing.T, models ...string) ports {
	t.Helper()
	var log string
	for range 3 {
		at, text, ok := s.launch(t, models)
		if ok {
			return at
		}
		log = text
	}
	t.Fatalf("the real Triton did not start\n%s", last(log, 30))
	return ports{}
}

// launch starts the server once; its log tells why it is not ready.
func (s *triton) launch(t *testing.T, models []string) (at ports, text string, ok bool) {
	t.Helper()
	at = freePorts(t)
	args := []string{
		"--model-repository=" + s.models, "--model-control-mode=explicit", fmt.Sprint("--http-port=", at.http),
		fmt.Sprint("--grpc-port=", at.grpc), fmt.Sprint("--metrics-port=", at.metrics),
	}
	for _, m := range models {
		args = append(args, "--load-model="+m)
	}
	cmd := exec.Command(s.launcher, args...)
	var log binary.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(20 * time.Second):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	})
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline) && len(exited) == 0; time.Sleep(100 * time.Millisecond) {
		if peers.Status(t.Context(), fmt.Sprintf("http://127.0.0.1:%d/v2/health/ready", at.http)) == http.StatusOK {
			return at, "", true
		}
	}
	return at, log.String(), false
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func last(s string, lines int) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
