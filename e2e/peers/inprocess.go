package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoPython means that the folder of Python's library, which Triton's backend needs in process, cannot be told.
var ErrNoPython = errors.New("no python3")

// InProcess makes a launcher of a program as perf_analyzer, and a folder in which the real Triton's library lies as in
// an installation, both below dir.
func (p *Peers) InProcess(ctx context.Context, dir, program string) (launcher, home string, err error) {
	python, err := exec.CommandContext(ctx, "python3", "-c", "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))").Output()
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrNoPython, err)
	}
	server := filepath.Join(p.Dir, "server")
	libs := filepath.Join(server, "nvidia_pytriton.libs")
	libraries, err := filepath.Glob(filepath.Join(libs, "libtritonserver-*.so"))
	if err != nil || len(libraries) != 1 {
		return "", "", fmt.Errorf("the library of the real Triton: %v %w", libraries, err)
	}
	home = filepath.Join(dir, "triton")
	named := filepath.Join(dir, "bin", "perf_analyzer")
	for path, to := range map[string]string{
		filepath.Join(home, "lib", "libtritonserver.so"): libraries[0],
		filepath.Join(home, "backends"):                  filepath.Join(server, "pytriton", "tritonserver", "backends"),
		named:                                            program,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", "", err
		}
		if err := os.Symlink(to, path); err != nil {
			return "", "", err
		}
	}
	launcher = filepath.Join(dir, "perf_analyzer")
	script := "#!/bin/sh\nexport PYTHONDONTWRITEBYTECODE=1 CUDA_VISIBLE_DEVICES=\n" +
		"export LD_LIBRARY_PATH='" + strings.TrimSpace(string(python)) + ":" + libs + "'\n" +
		"exec '" + named + "' \"$@\"\n"
	return launcher, home, os.WriteFile(launcher, []byte(script), 0o755)
}
