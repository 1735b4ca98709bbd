package qa

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

var passLine = regexp.MustCompile(`  Pass \[\d+\] throughput: (\S+) infer/sec\. Avg latency: (\d+) usec`)

// ranks is C18 and C19: three ranks of an MPI job measure three models together.
func (b *bench) ranks(t *testing.T) {
	mpi, err := peers.InstallMPI(t.Context())
	if err != nil {
		outcome.NotTested(t, "ranks of an MPI job", err, "openmpi-bin")
	}
	program := filepath.Join(b.bin, "redline-native")
	if _, err := os.Stat(program); err != nil {
		outcome.NotTested(t, "ranks of an MPI job", err, "a C compiler, run make build and set REDLINE_BIN_DIR to the folder bin")
	}
	disturbance.Try(t, func() error {
		for range peerCrashes {
			triton := b.keeper.Triton()
			logs, err := launch(t, mpi, program, triton.HTTP)
			if err != nil && b.keeper.Crashed(t, triton) {
				continue
			}
			if err != nil {
				return err
			}
			return together(t, logs)
		}
		outcome.Inconclusive(t, fmt.Sprintf("Triton crashed %d times", peerCrashes))
		return nil
	})
}

// launch runs three ranks and returns the files of what they printed.
func launch(t *testing.T, mpi, program, address string) ([]string, error) {
	t.Helper()
	dir := t.TempDir()
	named := filepath.Join(dir, "perf_analyzer")
	if err := os.Symlink(program, named); err != nil {
		t.Fatal(err)
	}
	args := []string{"--allow-run-as-root", "--oversubscribe", "--output-filename", filepath.Join(dir, "out")}
	for i, model := range []string{"graphdef_int32_int32_int32", "graphdef_nobatch_int32_int32_int32", "custom_zero_1_float32"} {
		if i > 0 {
			args = append(args, ":")
		}
		args = append(args, "-n", "1", named, "-v", "-u", address, "-m", model,
			"--measurement-mode", "count_windows", "-s", "50", "--enable-mpi", "--shape", "INPUT0:4", "--max-trials", "50")
	}
	cmd := exec.CommandContext(t.Context(), mpi, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("C18: %w\n%s", err, out)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "out", "*", "*", "stdout"))
	if err != nil || len(logs) != 3 {
		t.Fatalf("outputs of the ranks: %v %v", logs, err)
	}
	return logs, nil
}

// together reports whether all ranks became stable and ended at the same time.
func together(t *testing.T, logs []string) error {
	t.Helper()
	var first, last time.Time
	var faults []error
	for _, name := range logs {
		about, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		at := about.ModTime()
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, steadyRank(string(text)))
	}
	if apart := last.Sub(first); apart > 5*time.Second {
		faults = append(faults, fmt.Errorf("C18: the ranks ended %v apart", apart))
	}
	return errors.Join(faults...)
}

// steadyRank reports whether the last three windows of a rank agree.
func steadyRank(text string) error {
	if !strings.Contains(text, "All models on all MPI ranks are stable") {
		return fmt.Errorf("C18: not stable\n%s", text)
	}
	passes := passLine.FindAllStringSubmatch(text, -1)
	if len(passes) < 3 {
		return fmt.Errorf("C19: %d passes\n%s", len(passes), text)
	}
	for column := 1; column <= 2; column++ {
		var values []float64
		mean := 0.0
		for _, p := range passes[len(passes)-3:] {
			v, err := strconv.ParseFloat(p[column], 64)
			if err != nil {
				return err
			}
			values, mean = append(values, v), mean+v/3
		}
		for _, v := range values {
			if math.Abs(v/mean-1) > 0.5 {
				return fmt.Errorf("C19: %v differ by more than half", values)
			}
		}
	}
	return nil
}
