package qa

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/native"
)

// inProcess is table E: the server in the process of perf_analyzer.
func (b *bench) inProcess(t *testing.T) {
	launcher, home := native.Launcher(t, b.peers, b.bin)
	left := t.TempDir()
	for _, c := range read(t, "E") {
		t.Run(c.name, func(t *testing.T) {
			model := strings.Fields(c.run)[2]
			models := filepath.Join(left, c.name)
			copyModel(t, model, models)
			c.run = strings.Replace(c.run, "{C}", "--service-kind=triton_c_api --triton-server-directory="+home+" --model-repository="+models, 1)
			b.hold(t, &c, launcher)
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
