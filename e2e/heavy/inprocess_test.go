package heavy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

// inProcess makes a launcher of redline-native as perf_analyzer, and a folder in which the real Triton's library
// lies as in an installation.
func inProcess(t *testing.T, peer *peers.Peers) (native, home string) {
	t.Helper()
	bin, err := binary.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(bin, "redline-native")
	if _, err := os.Stat(program); err != nil {
		t.Skip("no redline-native: set REDLINE_BIN_DIR to the folder that `make build` fills")
	}
	python, err := exec.CommandContext(t.Context(), "python3", "-c", "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))").Output()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	server := filepath.Join(peer.Dir, "server")
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

// GenAI-Perf has perf_analyzer run an engine of TensorRT-LLM in its own process.
func TestGenAIPerfInProcess(t *testing.T) {
	gap := install(t, "genai-perf", "genai-perf.txt")
	server, peer := newTriton(t)
	native, home := inProcess(t, peer)
	dir, models := t.TempDir(), t.TempDir()
	if err := os.CopyFS(filepath.Join(models, "engine"), os.DirFS(filepath.Join(server.models, "engine"))); err != nil {
		t.Fatal(err)
	}
	tokenizer(t, filepath.Join(dir, "tokenizer"))
	gap.env = append(gap.env, "PATH="+filepath.Dir(native)+":"+os.Getenv("PATH"))
	profile(t, gap, dir, nil, gapCase{
		"engine", "-m engine --endpoint-type tensorrtllm_engine --streaming --concurrency 1" + small +
			" -- --triton-server-directory " + home + " --model-repository " + models, streamed, 8,
	})
}
