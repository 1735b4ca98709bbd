package conformance

import (
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
)

var (
	clientCount = regexp.MustCompile(`(?m)^    Request count: [1-9]`)
	serverCount = regexp.MustCompile(`(?m)^    Successful request count: [1-9]`)
)

// The real perf_analyzer profiles the models of the reference server, in every manner that they allow.
func TestReferenceServer(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	cases := readCases(t, "refserver.txt")
	p, _, s := beside(t, "the real perf_analyzer on the reference server")
	for i := range cases {
		c := &cases[i]
		c.Args = append(c.Args, "-p", "250", "-r", "3", "-s", "99999")
		t.Run(c.Name, func(t *testing.T) {
			o, err := Run(t.Context(), p.PerfAnalyzer(), c, fill(s.HTTP, s.GRPC, s.Metrics, ""), limit)
			if err != nil {
				t.Fatal(err)
			}
			if o.Code != 0 || !clientCount.MatchString(o.Stdout) || !serverCount.MatchString(o.Stdout) {
				t.Errorf("perf_analyzer %s\nexit code %d\n%s%s", strings.Join(c.Args, " "), o.Code, o.Stdout, o.Stderr)
			}
		})
	}
}

// beside installs the real perf_analyzer, builds Redline, and starts the reference server for both. What is not tested
// where that cannot be is said loudly.
func beside(t *testing.T, what string) (p *peers.Peers, bin string, s *binary.Server) {
	t.Helper()
	p, err := peers.Install(t.Context())
	if err != nil {
		t.Skipf("**** NOT TESTED: %s: %v ****", what, err)
	}
	if bin, err = binary.Build(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if s, err = binary.Serve(t.TempDir(), filepath.Join(bin, "redline"), "serve"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return p, bin, s
}

// fill puts addresses into command lines.
func fill(http, grpc, metrics, dead string) *strings.Replacer {
	if dead == "" {
		dead = net.JoinHostPort("127.0.0.1", "1")
	}
	return strings.NewReplacer("{http}", http, "{grpc}", grpc, "{metrics}", metrics, "{dead}", dead,
		"{data}", filepath.Join(binary.Root(), "e2e", "testdata", "data"))
}
