// Package native has tests run redline-native with the real Triton in its process.
package native

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/e2e/peers"
)

// Launcher makes a launcher of the redline-native in bin as perf_analyzer, and a folder in which the real Triton's
// library lies as in an installation. Where that cannot be, the test is skipped loudly.
func Launcher(t *testing.T, p *peers.Peers, bin string) (launcher, home string) {
	t.Helper()
	program := filepath.Join(bin, "redline-native")
	if _, err := os.Stat(program); err != nil {
		t.Skip("**** THE C API IS NOT TESTED: no redline-native: set REDLINE_BIN_DIR to the folder that `make build` fills ****")
	}
	launcher, home, err := p.InProcess(t.Context(), t.TempDir(), program)
	if errors.Is(err, peers.ErrNoPython) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return launcher, home
}
