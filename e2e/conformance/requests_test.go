package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/e2e/conformance/wiretap"
	"github.com/redline-bench/redline/e2e/peers"
)

// tappedRunner compares what reaches the server instead of what is printed.
func (r *runner) tappedRunner() *runner {
	tapped := *r
	tapped.tapped, tapped.compare = true, compareRequests
	tapped.store.Seed += "requests"
	return &tapped
}

func compareRequests(want, got *Outcome) []string {
	var diffs []string
	if want.Code != got.Code {
		diffs = append(diffs, fmt.Sprintf("exit code %d instead of %d", got.Code, want.Code))
	}
	if d := cmp.Diff(want.Requests, got.Requests); d != "" {
		diffs = append(diffs, "requests (-perf_analyzer +redline):\n"+d)
	}
	return diffs
}

// tap is a pair of proxies before a server, and what they wrote down.
type tap struct {
	log        wiretap.Log
	http, grpc *wiretap.Proxy
	fill       *strings.Replacer
}

func newTap(t *testing.T, triton *peers.Triton) *tap {
	t.Helper()
	p := &tap{}
	var err error
	if p.http, err = wiretap.HTTP(t.Context(), triton.HTTP, &p.log); err != nil {
		t.Fatal(err)
	}
	if p.grpc, err = wiretap.GRPC(t.Context(), triton.GRPC, &p.log); err != nil {
		t.Fatal(err)
	}
	p.fill = fill(p.http.Addr, p.grpc.Addr, triton.Metrics, "")
	return p
}

func (p *tap) close() {
	p.http.Close()
	p.grpc.Close()
}

// chosen reports whether the data of a case is the user's own, not random.
func chosen(args []string) bool {
	return slices.Contains(args, "--input-data") || slices.Contains(args, "--string-data") || slices.Contains(args, "-z")
}
