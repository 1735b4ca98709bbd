package qa

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/peers"
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
	native, home, err := b.peers.InProcess(t.Context(), t.TempDir(), program)
	if errors.Is(err, peers.ErrNoPython) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return native, home
}
