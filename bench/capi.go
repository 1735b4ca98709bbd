package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

const capiInFlight = 8

// capiRows compares the CPU time of a request to a Triton inside the client's own process, ours and
// perf_analyzer's, on the same library with the same model. Loading the library and starting the model costs more
// than all requests: each tool runs twice, with few and with many requests, and the difference counts. The model's
// own helper is another process and is left out.
func capiRows(ctx context.Context, e *env) error {
	if e.peers == nil {
		return errors.New("there is no Triton to load")
	}
	native := filepath.Join(filepath.Dir(e.bin), "redline-native")
	if _, err := os.Stat(native); err != nil {
		return fmt.Errorf("no redline-native beside the program: %w", err)
	}
	repository := e.file("capi-models")
	if err := oneModel(repository, "simple"); err != nil {
		return err
	}
	libs, err := e.peers.Libraries(ctx)
	if err != nil {
		return err
	}
	theirs, err := e.withLibraries(libs)
	if err != nil {
		return err
	}
	home := e.file("triton-home")
	if err := e.peers.Home(home); err != nil {
		return err
	}
	flags := []string{
		"-m", "simple", "--service-kind", "triton_c_api", "--concurrency-range", strconv.Itoa(capiInFlight), "--model-repository", repository,
		"--triton-server-directory", home,
	}
	few, many := 200, 200+e.requests(20_000)
	tools := []named{{"redline", append([]string{native, "profile"}, flags...)}, {"perf_analyzer", append([]string{theirs}, flags...)}}
	best := map[string]float64{}
	for range e.rounds {
		for _, t := range tools {
			cost, err := perRequest(ctx, t.argv, libs, few, many)
			if err != nil {
				e.report.note("%s, C API: %v", t.name, err)
				continue
			}
			if b, ok := best[t.name]; cost > 0 && (!ok || cost < b) {
				best[t.name] = cost
			}
		}
	}
	e.progress("%d in flight", capiInFlight)
	for _, t := range tools {
		line := row{Work: "Triton in process (C API), model simple", InFlight: capiInFlight, Tool: t.name, Figure: best[t.name], Unit: "µs CPU"}
		if b := atMost(1.25, "× perf_analyzer"); t.name == "redline" && best["perf_analyzer"] > 0 && best["redline"] > 0 {
			line.judge(b, best["redline"]/best["perf_analyzer"])
		} else if t.name == "redline" {
			line.unmeasured(b)
		}
		e.report.add(line)
	}
	return nil
}

// oneModel lays out a repository with a single model of the end-to-end tests.
func oneModel(dir, model string) error {
	all := dir + "-all"
	if err := peers.Repository(filepath.Join(binary.Root(), "e2e", "models"), all); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.Rename(filepath.Join(all, model), filepath.Join(dir, model))
}

// withLibraries makes a launcher of perf_analyzer that finds Triton's libraries too.
func (e *env) withLibraries(libs string) (string, error) {
	text, err := os.ReadFile(e.peers.PerfAnalyzer())
	if err != nil {
		return "", err
	}
	path := e.file("perf_analyzer_capi")
	const runtime = `cuda_runtime/lib"`
	return path, os.WriteFile(path, []byte(strings.Replace(string(text), runtime, strings.TrimSuffix(runtime, `"`)+":"+libs+`"`, 1)), 0o755)
}

// perRequest is the CPU time of a request in microseconds.
func perRequest(ctx context.Context, argv []string, libs string, few, many int) (float64, error) {
	var cpu [2]time.Duration
	for i, n := range []int{few, many} {
		var err error
		if cpu[i], err = ownCPU(ctx, slices.Concat(argv, []string{"--request-count", strconv.Itoa(n)}), libs); err != nil {
			return 0, err
		}
	}
	return float64((cpu[1] - cpu[0]).Nanoseconds()) / 1e3 / float64(many-few), nil
}

// ownCPU runs a command and returns what the process itself used, its children left out.
func ownCPU(ctx context.Context, argv []string, libs string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libs, "PYTHONDONTWRITEBYTECODE=1", "CUDA_VISIBLE_DEVICES=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var used time.Duration
	for tick := time.Tick(5 * time.Millisecond); ; {
		select {
		case err := <-ended:
			if err != nil {
				return 0, fmt.Errorf("%w: %s", err, lastLine(out.String()))
			}
			if !requestCount.MatchString(out.String()) {
				return 0, fmt.Errorf("no request was counted: %s", lastLine(out.String()))
			}
			return used, nil
		case <-tick:
			used = max(used, cpuOf(cmd.Process.Pid))
		}
	}
}

// cpuOf reads the CPU time of a process, all its threads, from the kernel, which counts in hundredths of a second.
func cpuOf(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}
