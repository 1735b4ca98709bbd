package heavy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/native"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// inProcess builds the program and makes a launcher of redline-native; see native.Launcher.
func inProcess(t *testing.T, peer *peers.Peers) (launcher, home string) {
	t.Helper()
	return native.Launcher(t, peer, binary.Built(t))
}

// GenAI-Perf has perf_analyzer run an engine of TensorRT-LLM in its own process.
func TestGenAIPerfInProcess(t *testing.T) {
	outcome.HeavyOnly(t, manyRuns)
	gap := install(t, "genai-perf", peers.GenAIPerf)
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
