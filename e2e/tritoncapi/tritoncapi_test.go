// Package tritoncapi_test runs the real Triton in the process of redline-native: as perf_analyzer's guide has it, and
// with what can go wrong. It needs REDLINE_BIN_DIR with redline-native, as `make build` leaves it.
package tritoncapi_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/death"
	"github.com/redline-bench/redline/e2e/guide"
	"github.com/redline-bench/redline/e2e/native"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

type rig struct {
	launcher, home, models string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	peer, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, "Triton in process", err, "python3 with venv")
	}
	bin := binary.Built(t)
	r := &rig{models: filepath.Join(t.TempDir(), "models")}
	r.launcher, r.home = native.Launcher(t, peer, bin)
	all := t.TempDir()
	if err := peers.Repository(filepath.Join(binary.Root(), "e2e", "models"), all); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"simple", "flaky", "identity_fp32"} {
		if err := os.CopyFS(filepath.Join(r.models, name), os.DirFS(filepath.Join(all, name))); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *rig) args(model string, more ...string) []string {
	return append([]string{"-m", model, "--service-kind=triton_c_api", "--triton-server-directory=" + r.home, "--model-repository=" + r.models}, more...)
}

func TestGuide(t *testing.T) {
	r := newRig(t)
	guide.Check(t, &guide.Command{Program: r.launcher, Args: r.args("simple"), Shows: `
*** Measurement Settings ***
  Service Kind: TRITON_C_API
` + guide.Windows + guide.Level + `    
  Server: 
    Inference count: #
    Execution count: #
    Successful request count: #
    Avg request latency: # usec (overhead # usec + queue # usec + compute input # usec + compute infer # usec + compute output # usec)
` + guide.Summary})
}

// run returns how the program ended. It calls during when requests ended in two windows. After a crash of Triton in the
// process it runs again.
func (r *rig) run(t *testing.T, during func(), args ...string) (stdout, stderr string, code int) {
	t.Helper()
	peers.RepeatCrashed(t, func() string {
		stdout, stderr, code = r.once(t, during, args...)
		return stderr
	})
	return stdout, stderr, code
}

func (r *rig) once(t *testing.T, during func(), args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.launcher, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// Triton's helpers hold the pipes; after a crash of Triton they stay.
	cmd.WaitDelay = 20 * time.Second
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }()
	var errs bytes.Buffer
	out := death.AfterWindows(during)
	cmd.Stdout, cmd.Stderr = out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%s: no end\n%s%s", strings.Join(args, " "), out.String(), errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// In perf_analyzer mode too a failure is one line that says what was wrong.
func TestFailures(t *testing.T) {
	r := newRig(t)
	f := func(want string, args ...string) {
		t.Helper()
		out, errs, code := r.run(t, func() {}, args...)
		if code != 99 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, want %q in\n%s\n%s", strings.Join(args, " "), code, want, out, errs)
		}
	}
	const small = "--request-count=40"
	f("Thread [0] had error: [request id: <id_unknown>] inference request batch-size must be <= ", r.args("simple", small, "-b", "1000")...)
	f("Thread [0] had error: this model fails on purpose", r.args("flaky", small, "--shape", "INPUT0:4")...)
	f("Thread [0] had error: shared memory size specified with the request for output 'OUTPUT0' (8 bytes) should be at least 400 bytes to hold the results",
		r.args("identity_fp32", small, "--shape", "INPUT0:100", "--shared-memory", "system", "--output-shared-memory-size", "8")...)
	f(`perf_analyzer: model metadata of model "nobody" failed in the Triton of this process: the model is not loaded, or the server is not ready`, r.args("nobody", small)...)
	f(`perf_analyzer: model metadata of model "simple" failed in the Triton of this process: the model is not loaded, or the server is not ready`, r.args("simple", small, "-x", "latest")...)
	f("/nowhere does not exist: see --triton-server-directory", "-m", "simple", "--service-kind=triton_c_api",
		"--triton-server-directory=/nowhere", "--model-repository="+r.models)
	f("Triton did not start: Invalid argument - ",
		"-m", "simple", "--service-kind=triton_c_api", "--triton-server-directory="+r.home, "--model-repository="+r.launcher)
}

var measured = regexp.MustCompile(`(?m)^    Request count: [1-9]`)

// The helper process of the model is killed: each request fails from then on.
func TestStubDies(t *testing.T) {
	outcome.HeavyOnly(t, "Triton waits half a minute for the dead helper before it ends")
	r := newRig(t)
	kill := func() {
		for _, stub := range stubs(t, r.models, "simple") {
			if err := syscall.Kill(stub, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	args := r.args("simple", "-v", "-p", "500", "-s", "0", "-r", "400", "--concurrency-range", "2")
	out, errs, code := r.run(t, kill, args...)
	if code != 99 || !measured.MatchString(errs) || !strings.Contains(errs, "had error: ") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
}

// stubs are the helpers that run a model of a repository.
func stubs(t *testing.T, models, model string) (pids []int) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Error(err)
	}
	for _, path := range lines {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("triton_python_backend_stub")) || !bytes.Contains(text, []byte(filepath.Join(models, model))) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Error(err)
			continue
		}
		pids = append(pids, pid)
	}
	if len(pids) == 0 {
		t.Error("no helper of the model is running")
	}
	return pids
}
