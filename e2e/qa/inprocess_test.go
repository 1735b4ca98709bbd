package qa

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inProcess is table E: the server in the process of perf_analyzer.
func (b *bench) inProcess(t *testing.T) {
	native, home := b.library(t)
	left := t.TempDir()
	for _, c := range read(t, "E") {
		t.Run(c.name, func(t *testing.T) {
			model := strings.Fields(c.run)[2]
			models := filepath.Join(left, c.name)
			copyModel(t, model, models)
			c.run = strings.Replace(c.run, "{C}", "--service-kind=triton_c_api --triton-server-directory="+home+" --model-repository="+models, 1)
			b.hold(t, &c, native)
		})
	}
	t.Run("E13", func(t *testing.T) {
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range lines {
			if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), left) {
				t.Errorf("still runs: %s", strings.ReplaceAll(string(text), "\x00", " "))
			}
		}
	})
}

// library makes a launcher of redline-native as perf_analyzer, and a folder in which the real Triton's library
// lies as in an installation.
func (b *bench) library(t *testing.T) (native, home string) {
	t.Helper()
	program := filepath.Join(b.bin, "redline-native")
	if _, err := os.Stat(program); err != nil {
		t.Skip("**** THE C API IS NOT TESTED: no redline-native: set REDLINE_BIN_DIR to the folder that `make build` fills ****")
	}
	python, err := exec.CommandContext(t.Context(), "python3", "-c", "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))").Output()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	server := filepath.Join(b.peers.Dir, "server")
	libraries, err := filepath.Glob(filepath.Join(server, "nvidia_pytriton.libs", "libtritonserver-*.so"))
	if err != nil || len(libraries) != 1 {
		t.Fatalf("the library of the real Triton: %v %v", libraries, err)
	}
	link := func(to string, name ...string) {
		path := filepath.Join(append([]string{dir}, name...)...)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	link(libraries[0], "triton", "lib", "libtritonserver.so")
	link(filepath.Join(server, "pytriton", "tritonserver", "backends"), "triton", "backends")
	link(program, "bin", "perf_analyzer")
	native = filepath.Join(dir, "perf_analyzer")
	write(t, native, "#!/bin/sh\nexport PYTHONDONTWRITEBYTECODE=1 CUDA_VISIBLE_DEVICES=\n"+
		"export LD_LIBRARY_PATH='"+strings.TrimSpace(string(python))+":"+filepath.Join(server, "nvidia_pytriton.libs")+"'\n"+
		"exec '"+filepath.Join(dir, "bin", "perf_analyzer")+"' \"$@\"\n")
	if err := os.Chmod(native, 0o755); err != nil {
		t.Fatal(err)
	}
	return native, filepath.Join(dir, "triton")
}
