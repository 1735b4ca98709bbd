package openai_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// Without a tokenizer, llama.cpp tells how many tokens a word of generated text has: letters, with this model.
func TestLlamaTellsLengths(t *testing.T) {
	r := start(t)
	for _, endpoint := range []string{"chat", "completions"} {
		file := filepath.Join(t.TempDir(), "result.json")
		cmd := exec.CommandContext(t.Context(), filepath.Join(r.bin, "redline"), "llm", "-m", "tiny", "-u", r.server.Addr, "--endpoint-type", endpoint,
			"--isl", "100", "--osl", "8", "--request-count", "20", "--json", file)
		out, errs, code := binary.Output(t, cmd)
		if code != 0 || !strings.Contains(out, "by the server's tokenizer") {
			t.Fatalf("%s: ended with %d\n%s%s", endpoint, code, out, errs)
		}
		if m := binary.Result(t, file).Levels[0].Metric("input_sequence_length"); m == nil || m.Avg < 90 || m.Avg > 110 {
			t.Errorf("%s: prompts have %+v tokens, 100 were asked for", endpoint, m)
		}
	}
}
