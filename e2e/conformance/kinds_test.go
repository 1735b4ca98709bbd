package conformance

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/testkit"
)

// TestOtherKinds compares Redline with perf_analyzer, case by case, for the service kinds besides triton. The servers are
// our own, so outcomes are not kept: they may change with the sources.
func TestOtherKinds(t *testing.T) {
	cases := readCases(t, "kinds.txt")
	p, bin, s := beside(t, fmt.Sprintf("%d cases against the real perf_analyzer", len(cases)))
	fill := strings.NewReplacer("{openai}", s.Ports["openai"], "{tfserving}", s.Ports["tfserving"], "{torchserve}", s.Ports["torchserve"],
		"{grpc}", s.GRPC, "{dead}", testkit.Port(t), "{data}", filepath.Join(binary.Root(), "e2e", "testdata", "kinds"))
	ours := filepath.Join(bin, "perf_analyzer")
	pool.Run(t, atOnce, tasks("", cases, func(t *testing.T, c *Case) {
		judge(t, c, func() (*Outcome, []string) {
			got := run(t, ours, c, fill, limit)
			if c.Deviation != "" {
				return got, deviation(c, got)
			}
			var diffs []string
			for range peerRuns {
				want := run(t, p.PerfAnalyzer(), c, fill, peerLimit)
				if why := peerFault(want, true); why != "" {
					t.Logf("PEER CRASHED: %s", why)
				}
				if diffs = Compare(want, got); len(diffs) == 0 {
					break
				}
			}
			return got, diffs
		})
	}))
}
