package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redline-bench/redline/e2e/conformance/wiretap"
)

// requests compares what reaches the server, case by case.
func (r *runner) requests(t *testing.T) {
	var log wiretap.Log
	plain, err := wiretap.HTTP(t.Context(), r.triton.HTTP, &log)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	remote, err := wiretap.GRPC(t.Context(), r.triton.GRPC, &log)
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	tapped := *r
	tapped.fill = fill(plain.Addr, remote.Addr, r.triton.Metrics, "")
	tapped.log = &log
	tapped.store.Seed += "requests"
	cases := readCases(t, "requests.txt")
	for i := range cases {
		t.Run(cases[i].Name, func(t *testing.T) { tapped.checkRequests(t, &cases[i]) })
		if err := r.triton.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkRequests looks twice at a difference, for the same reason as check.
func (r *runner) checkRequests(t *testing.T, c *Case) {
	var diff, stderr string
	for try := range 3 {
		got := r.observe(t, r.ours, c)
		want := r.want(t, c, try > 0)
		if diff = cmp.Diff(want.Requests, got.Requests); diff == "" && want.Code == got.Code {
			return
		}
		stderr = got.Stderr
	}
	t.Errorf("perf_analyzer %s\nrequests (-perf_analyzer +redline):\n%s\nour stderr:\n%s", strings.Join(c.Args, " "), diff, stderr)
}

// observe runs a case and keeps what went over the wire, where that is watched.
func (r *runner) observe(t *testing.T, bin string, c *Case) *Outcome {
	t.Helper()
	if r.log != nil {
		r.log.Take()
	}
	o, err := Run(t.Context(), bin, c, r.fill, limit)
	if err != nil {
		t.Fatal(err)
	}
	if r.log != nil {
		o.Requests = wiretap.Normalize(r.log.Take(), chosen(c.Args))
	}
	return o
}

// chosen tells whether the data of a case is the user's own, not random.
func chosen(args []string) bool {
	return slices.Contains(args, "--input-data") || slices.Contains(args, "--string-data") || slices.Contains(args, "-z")
}
