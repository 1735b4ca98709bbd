package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redline-bench/redline/internal/cleantext"
)

// ErrNoPython means that the folder of Python's library, which Triton's backend needs in process, cannot be told.
var ErrNoPython = errors.New("no python3")

// Libraries is what the search path of shared libraries must hold for Triton in process: Python's folder, and that of
// the server's own.
func (p *Peers) Libraries(ctx context.Context) (string, error) {
	python, err := exec.CommandContext(ctx, "python3", "-c", "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))").Output()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoPython, err)
	}
	return strings.TrimSpace(string(python)) + ":" + p.own(), nil
}

// own is the folder of the libraries that come with the server.
func (p *Peers) own() string { return filepath.Join(p.Dir, "server", "nvidia_pytriton.libs") }

// Home lays out the real Triton's library and backends in a folder as an installation has them.
func (p *Peers) Home(home string) error {
	libraries, err := filepath.Glob(filepath.Join(p.own(), "libtritonserver-*.so"))
	if err != nil || len(libraries) != 1 {
		return fmt.Errorf("the library of the real Triton: %v %w", libraries, err)
	}
	return links(map[string]string{
		filepath.Join(home, "lib", "libtritonserver.so"): libraries[0],
		filepath.Join(home, "backends"):                  filepath.Join(p.Dir, "server", "pytriton", "tritonserver", "backends"),
	})
}

// links makes symbolic links and the folders that they lie in.
func links(to map[string]string) error {
	for path, target := range to {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(target, path); err != nil {
			return err
		}
	}
	return nil
}

// InProcess makes a launcher of a program as perf_analyzer, and a folder in which the real Triton's library lies as in
// an installation, both below dir.
func (p *Peers) InProcess(ctx context.Context, dir, program string) (launcher, home string, err error) {
	libs, err := p.Libraries(ctx)
	if err != nil {
		return "", "", err
	}
	home = filepath.Join(dir, "triton")
	if err := p.Home(home); err != nil {
		return "", "", err
	}
	named := filepath.Join(dir, "bin", "perf_analyzer")
	if err := links(map[string]string{named: program}); err != nil {
		return "", "", err
	}
	launcher = filepath.Join(dir, "perf_analyzer")
	script := "#!/bin/sh\nunset PYTHONPYCACHEPREFIX\nexport PYTHONDONTWRITEBYTECODE=1 CUDA_VISIBLE_DEVICES=\n" +
		"export LD_LIBRARY_PATH='" + libs + "'\n" +
		"exec '" + named + "' \"$@\"\n"
	return launcher, home, os.WriteFile(launcher, []byte(script), 0o755)
}

// crashed matches the message of an uncaught C++ exception, and Redline's message about a signal such as SIGSEGV. Triton's
// Python backend sometimes ends the process that way when it starts or stops. The client does not cause it.
var crashed = regexp.MustCompile(`terminate called after throwing|Triton crashed inside of this process`)

// CrashedInProcess tells, by what a program wrote, whether Triton crashed in its process, and logs that.
func CrashedInProcess(t *testing.T, stderr string) bool {
	t.Helper()
	at := crashed.FindStringIndex(stderr)
	if at == nil {
		return false
	}
	t.Logf("PEER CRASHED: Triton in process: %s", cleantext.Cut(stderr[at[0]:], 120))
	return true
}

// RepeatCrashed calls once, and again after a crash of Triton in the process that it ran, at most three times. once returns what that
// process wrote about its failure.
func RepeatCrashed(t *testing.T, once func() (wrote string)) {
	t.Helper()
	for range 3 {
		if !CrashedInProcess(t, once()) {
			return
		}
	}
	once()
}
