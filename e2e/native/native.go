// Package native has tests run redline-native with the real Triton in its process.
package native

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// Launcher makes a launcher of the redline-native in bin as perf_analyzer, and a folder in which the real Triton's
// library lies as in an installation. Where that cannot be, the test ends with outcome.NotTested.
func Launcher(t *testing.T, p *peers.Peers, bin string) (launcher, home string) {
	t.Helper()
	program := filepath.Join(bin, "redline-native")
	if _, err := os.Stat(program); err != nil {
		outcome.NotTested(t, "Triton in process", err, "a C compiler and run `make build`, which makes redline-native")
	}
	launcher, home, err := p.InProcess(t.Context(), t.TempDir(), program)
	if errors.Is(err, peers.ErrNoPython) {
		outcome.NotTested(t, "Triton in process", err, "python3")
	}
	if err != nil {
		t.Fatal(err)
	}
	return launcher, home
}
