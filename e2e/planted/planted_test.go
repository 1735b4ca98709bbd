// Package planted makes the program wrong on purpose and shows that the end-to-end tests find it, on the machine as it is
// and beside processes that use all its cores.
package planted

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
)

// busyFor makes this program a busy process for that long: tests start it beside what they run.
const busyFor = "REDLINE_PLANTED_BUSY"

func TestMain(m *testing.M) {
	if d, err := time.ParseDuration(os.Getenv(busyFor)); err == nil {
		for begun := time.Now(); time.Since(begun) < d; {
		}
		return
	}
	os.Exit(m.Run())
}

// limit bounds one run of the tests on one program.
const limit = 5 * time.Minute

func TestTimedFaultsAreFound(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]string{}
	for _, pkg := range []string{programs, models} {
		tests[pkg] = filepath.Join(dir, filepath.Base(pkg)+".test")
		goTool(t, "test", "-c", "-trimpath", "-tags", binary.Tags, "-vet=off", "-ldflags", "-s -w", "-o", tests[pkg], "./"+pkg)
	}
	rightBin, err := binary.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	wrongBin := build(t)
	for _, beside := range []int{0, 2 * runtime.NumCPU()} {
		t.Run(fmt.Sprintf("beside %d busy processes", beside), func(t *testing.T) {
			startBusy(t, beside)
			for _, r := range right {
				t.Run("no fault, "+filepath.Base(r.pkg), func(t *testing.T) {
					t.Parallel()
					if out, ok := run(t, tests[r.pkg], r.pkg, rightBin, "", r.test); !ok {
						t.Errorf("the tests fail on the right program:\n%s", out)
					}
				})
			}
			for i := range faults {
				f := &faults[i]
				t.Run(f.name, func(t *testing.T) {
					t.Parallel()
					if out, ok := run(t, tests[f.pkg], f.pkg, wrongBin, f.name, f.test); ok || !failed.MatchString(out) || !strings.Contains(out, f.says) {
						t.Errorf("%s was not found; want a failed test that says %q:\n%s", f.name, f.says, out)
					}
				})
			}
		})
	}
}

// failed finds a test that failed, not one that was skipped or did not end.
var failed = regexp.MustCompile(`(?m)^--- FAIL: `)

// run runs tests of a package on the programs of a folder, with one of their faults. It returns what they print and whether all passed or were skipped.
func run(t *testing.T, tests, pkg, bin, fault, pattern string) (out string, ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, tests, "-test.v", "-test.count=1", "-test.run", pattern)
	cmd.Dir = filepath.Join(binary.Root(), pkg)
	cmd.Env = append(os.Environ(), "REDLINE_BIN_DIR="+bin, variable+"="+fault)
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the tests did not end:\n%s", text)
	}
	return string(text), err == nil
}

// build makes the wrong program in a folder of its own.
func build(t *testing.T) string {
	t.Helper()
	changed := map[string][]byte{}
	for path, text := range added {
		changed[path] = []byte(text)
	}
	for _, e := range edits {
		text := changed[e.file]
		if text == nil {
			var err error
			if text, err = os.ReadFile(filepath.Join(binary.Root(), e.file)); err != nil {
				t.Fatal(err)
			}
		}
		if n := bytes.Count(text, []byte(e.old)); n != 1 {
			t.Fatalf("%s: %q stands there %d times, want once: adapt the planted fault", e.file, e.old, n)
		}
		changed[e.file] = bytes.Replace(text, []byte(e.old), []byte(e.new), 1)
	}
	dir := t.TempDir()
	if err := binary.Compile(dir, changed); err != nil {
		t.Fatal(err)
	}
	return dir
}

func goTool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = binary.Root(), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// startBusy starts processes that use a core each until the test ends, at most as long as all runs beside them may take.
func startBusy(t *testing.T, n int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), busyFor+"="+(time.Duration(len(faults)+1)*limit).String())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}
