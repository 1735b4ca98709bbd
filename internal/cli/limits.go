package cli

import (
	"fmt"

	"github.com/redline-bench/redline/internal/plan"
)

// spareFiles is what the program needs besides its connections.
const spareFiles = 64

// checkLimits tells before the load starts that it cannot be made: each HTTP request in flight has a connection of
// its own, and a connection needs a file descriptor and, towards one address, a local port.
func (s *session) checkLimits() error {
	load := &s.plan.Load
	if s.plan.Target.Protocol != plan.HTTP || load.Mode != plan.Concurrency {
		return nil
	}
	need := max(load.Concurrency.Start, load.Concurrency.End)
	if files := raiseFileLimit(uint64(need) + spareFiles); files < uint64(need)+spareFiles {
		return fmt.Errorf("%d connections need %d open files and this process may have %d: run 'ulimit -n %d' first, or use -i grpc, which shares connections",
			need, need+spareFiles, files, need+spareFiles)
	}
	return nil
}
