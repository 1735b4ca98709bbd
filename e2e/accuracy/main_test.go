// Package accuracy holds the numbers of `redline profile` against the log of the server that was measured and against
// its own export.
package accuracy

import (
	"path/filepath"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// bin is the folder with redline and perf_analyzer.
var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }

// startServer starts the reference server with options; dir is its working folder.
func startServer(dir string, args ...string) (*binary.Server, error) {
	return binary.Serve(dir, append([]string{filepath.Join(bin, "redline"), "serve"}, args...)...)
}
