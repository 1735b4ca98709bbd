package conformance

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

// TestOtherKinds compares Redline with perf_analyzer, case by case, for the service kinds besides triton. The servers are
// our own, so outcomes are not kept: they may change with the sources.
func TestOtherKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	cases := readCases(t, "kinds.txt")
	p, bin, s := beside(t, fmt.Sprintf("%d cases against the real perf_analyzer", len(cases)))
	dead, err := peers.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("{openai}", s.Ports["openai"], "{tfserving}", s.Ports["tfserving"], "{torchserve}", s.Ports["torchserve"],
		"{grpc}", s.GRPC, "{dead}", net.JoinHostPort("127.0.0.1", strconv.Itoa(dead[0])),
		"{data}", filepath.Join(binary.Root(), "e2e", "testdata", "kinds"))
	for i := range cases {
		c := &cases[i]
		t.Run(c.Name, func(t *testing.T) {
			var diffs []string
			for range 3 { // on a busy machine neither always does the same thing
				got, err := Run(t.Context(), filepath.Join(bin, "perf_analyzer"), c, fill, limit)
				if err != nil {
					t.Fatal(err)
				}
				if c.Deviation != "" {
					diffs = deviation(c, got)
				} else {
					want, err := Run(t.Context(), p.PerfAnalyzer(), c, fill, limit)
					if err != nil {
						t.Fatal(err)
					}
					diffs = Compare(want, got)
				}
				if len(diffs) == 0 {
					return
				}
			}
			t.Errorf("perf_analyzer %s\n%s", strings.Join(c.Args, " "), strings.Join(diffs, "\n"))
		})
	}
}
