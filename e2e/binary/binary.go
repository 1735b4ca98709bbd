// Package binary builds the program under test the way `make build` does, for the end-to-end tests.
package binary

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Build builds redline, and perf_analyzer as a link to it, in dir and returns dir. If REDLINE_BIN_DIR names a folder that has them, it
// returns that folder.
//
// It also turns off the history for the programs that the tests start.
func Build(dir string) (string, error) {
	if err := os.Setenv("REDLINE_HISTORY", "off"); err != nil {
		return "", err
	}
	if ready := os.Getenv("REDLINE_BIN_DIR"); ready != "" {
		return filepath.Abs(ready)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "redline"), "./cmd/redline")
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build redline: %w\n%s", err, out)
	}
	if err := os.Symlink("redline", filepath.Join(dir, "perf_analyzer")); err != nil {
		return "", err
	}
	return dir, nil
}

// Test is TestMain of tests of the built program: it sets bin to the folder with the programs.
func Test(m *testing.M, bin *string) {
	Main(func(_, built string) (int, error) {
		*bin = built
		return m.Run(), nil
	})
}

// Main is TestMain of tests that need more than Test: it builds the program, calls run, and ends the process. dir is a folder that is
// removed at the end, bin has the programs.
func Main(run func(dir, bin string) (code int, err error)) {
	code, err := built(run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func built(run func(dir, bin string) (int, error)) (int, error) {
	dir, err := os.MkdirTemp("", "redline-test-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	bin, err := Build(dir)
	if err != nil {
		return 0, err
	}
	return run(dir, bin)
}

// Root is the top folder of the source tree.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}
