//go:build linux

package dist

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/disturbance"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// oldest is the first Python that the wheel supports, as 3.N.
const oldest = 8

var pythonName = regexp.MustCompile(`^python3\.(\d+)$`)

// pythons are the interpreters of this machine by N of 3.N: those in PATH, and those that pyenv has installed.
func pythons(t *testing.T) map[int]string {
	t.Helper()
	folders := filepath.SplitList(os.Getenv("PATH"))
	if out, err := exec.CommandContext(t.Context(), "pyenv", "root").Output(); err == nil {
		more, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "versions", "*", "bin"))
		if err != nil {
			t.Fatal(err)
		}
		folders = append(more, folders...)
	}
	found := map[int]string{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "python3.*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			m := pythonName.FindStringSubmatch(filepath.Base(path))
			if m == nil {
				continue
			}
			n, _ := strconv.Atoi(m[1])
			if found[n] == "" && exec.CommandContext(t.Context(), path, "-c", "import venv, pip").Run() == nil {
				found[n] = path
			}
		}
	}
	return found
}

// The wheel installs into a fresh environment of the oldest and the newest Python here, with nothing else, and works there: the
// program, the module, the extra perf_analyzer, and the cells of the example notebook.
func TestWheel(t *testing.T) {
	t.Parallel()
	found := pythons(t)
	first, last := 1000, 0
	for n := range found {
		if n >= oldest {
			first, last = min(first, n), max(last, n)
		}
	}
	if last == 0 {
		outcome.NotTested(t, "the Python wheel", errors.New("no Python 3.8 or later with venv and pip"), "python3 and python3-venv")
	}
	for _, n := range []int{first, last} {
		t.Run("3."+strconv.Itoa(n), func(t *testing.T) {
			env := filepath.Join(t.TempDir(), "env")
			run(t, found[n], "-m", "venv", "--without-pip", env)
			python := filepath.Join(env, "bin", "python")
			// The newest pip can install for other interpreters, which spares the installation of pip.
			run(t, found[last], "-m", "pip", "--python", python, "--disable-pip-version-check", "install", "--quiet", "--no-index",
				"--find-links", folder(t), "redline-bench[perf-analyzer]")
			inPython(t, python, nil)
			out := run(t, filepath.Join(env, "bin", "perf_analyzer"), "--version")
			if !strings.Contains(out, "Perf Analyzer Version") {
				t.Errorf("perf_analyzer --version prints\n%s", out)
			}
		})
	}
}

// With pandas and pyarrow, results are frames and records are read from Parquet.
func TestWheelFrames(t *testing.T) {
	t.Parallel()
	venv := install(t, peers.InstallValidators, func(err error) { outcome.NotTested(t, "results as pandas frames", err, "python3 with venv") })
	python, target := filepath.Join(venv, "bin", "python"), t.TempDir()
	run(t, python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps", "--target", target, find(t, "redline_bench-*.whl"))
	inPython(t, python, []string{"PYTHONPATH=" + target, "FRAMES=1"})
}

// The types of the module hold by the strict rules of mypy.
func TestWheelTypes(t *testing.T) {
	outcome.HeavyOnly(t, "the types of the Python module")
	venv := install(t, peers.InstallValidators, func(err error) { outcome.NotTested(t, "the types of the Python module", err, "python3 with venv") })
	cmd := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "mypy"), "--strict", "--ignore-missing-imports", "--cache-dir", t.TempDir(), "redline")
	cmd.Dir = filepath.Join(binary.Root(), "python")
	must(t, cmd)
}

// inPython runs the checks of testdata/wheel.py and the cells of the notebook in an empty folder.
func inPython(t *testing.T, python string, env []string) {
	t.Helper()
	script, err := filepath.Abs("testdata/wheel.py")
	if err != nil {
		t.Fatal(err)
	}
	disturbance.Try(t, func() error {
		cmd := exec.CommandContext(t.Context(), python, script, filepath.Join(binary.Root(), "docs", "examples", "redline.ipynb"), runtime.GOARCH)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), append(env, "REDLINE_HISTORY=off", "REDLINE_PROGRAM=", "PYTHONDONTWRITEBYTECODE=1")...)
		out, err := cmd.CombinedOutput()
		return binary.WindowError(t, err, out)
	})
}
