// Package binary builds the program under test the way `make build` does, for the end-to-end tests.
package binary

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Build builds redline, and its other names as links to it, in dir and returns dir. If REDLINE_BIN_DIR names a folder that has them, it
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
	return dir, Compile(dir, nil)
}

// Built is the folder of Build for one test.
func Built(t testing.TB) string {
	t.Helper()
	bin, err := Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// Tags are the build tags of the Makefile.
const Tags = "grpcnotrace,netgo,osusergo"

// Compile builds redline, and its other names as links to it, in dir. changed has source files, by their paths from Root, and the text that
// the compiler reads in their place. The flags are those of `make build`: what it has compiled is in the build cache.
func Compile(dir string, changed map[string][]byte) error {
	overlay, err := Overlay(dir, changed)
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-tags", Tags, "-ldflags", "-s -w", "-overlay", overlay,
		"-o", filepath.Join(dir, "redline"), "./cmd/redline")
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build redline: %w\n%s", err, out)
	}
	for _, name := range []string{"perf_analyzer", "llm_perf"} {
		if err := os.Symlink("redline", filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Overlay writes the changed source files into dir, and a file there for the option -overlay of the go command. It returns the path
// of that file.
func Overlay(dir string, changed map[string][]byte) (string, error) {
	replace := map[string]string{}
	for path, text := range changed {
		copied := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(copied, text, 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(Root(), filepath.FromSlash(path))] = copied
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
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

// Root is the top folder of the source tree: the nearest one with a go.mod, from the folder in which the test runs.
func Root() string {
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	panic("BUG: the tests run outside the source tree")
}
