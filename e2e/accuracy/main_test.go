// Package accuracy compares the numbers of `redline profile` with the log of the server that was measured and against
// its own export.
package accuracy

import (
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
)

// bin is the folder with redline and perf_analyzer.
var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }
