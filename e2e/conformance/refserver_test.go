package conformance

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

var (
	clientCount = regexp.MustCompile(`(?m)^    Request count: [1-9]`)
	serverCount = regexp.MustCompile(`(?m)^    Successful request count: [1-9]`)
)

// The real perf_analyzer profiles the models of the reference server, in every manner that they allow.
func TestReferenceServer(t *testing.T) {
	p, _, s := beside(t, "the real perf_analyzer on the reference server")
	addresses := fill(s.HTTP, s.GRPC, s.Metrics, "")
	pool.Run(t, atOnce, tasks("", readCases(t, "refserver.txt"), func(t *testing.T, c *Case) {
		judge(t, c, func() (*Outcome, []string) {
			o := retryPeer(t, c, true, func() *Outcome { return run(t, p.PerfAnalyzer(), c, addresses, peerLimit) })
			if o.Code != 0 || !clientCount.MatchString(o.Stdout) || !serverCount.MatchString(o.Stdout) {
				return o, []string{fmt.Sprintf("exit code %d\n%s", o.Code, strings.TrimSpace(o.Stdout))}
			}
			return o, nil
		})
	}))
}

// beside installs the real perf_analyzer, builds Redline, and starts the reference server for both.
func beside(t *testing.T, what string) (p *peers.Peers, bin string, s *binary.Server) {
	t.Helper()
	p, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, what, err, installPeers)
	}
	if bin, err = binary.Build(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if s, err = binary.StartServer(t.TempDir(), bin); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return p, bin, s
}
