package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/e2e/pool"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

const installPeers = "Python 3 with venv, and apt"

// TestRealPeers compares Redline with perf_analyzer, case by case, on one real Triton; then the numbers of both on
// a model that always takes the same time.
func TestRealPeers(t *testing.T) {
	cases := readCases(t, "conformance.txt")
	p, err := peers.Install(t.Context())
	if err != nil {
		outcome.NotTested(t, fmt.Sprintf("%d cases against the real Triton and perf_analyzer", len(cases)), err, installPeers)
	}
	r := newRunner(t, p)
	pool.Run(t, atOnce, slices.Concat(r.interrupts(), tasks("requests/", readCases(t, "requests.txt"), r.tappedRunner().check), tasks("", cases, r.check)))
	t.Run("same numbers", func(t *testing.T) {
		t.Run("http", func(t *testing.T) { r.sameNumbers(t, "-i http -u {http}") })
		t.Run("grpc", func(t *testing.T) { r.sameNumbers(t, "-i grpc -u {grpc}") })
	})
}

// tasks makes a subtest of each case. Those that cannot run side by side come first: the rest fills the gaps.
func tasks(prefix string, cases []Case, check func(*testing.T, *Case)) []pool.Task {
	var first, rest []pool.Task
	for i := range cases {
		c := &cases[i]
		task := pool.Task{Name: prefix + c.Name, Needs: c.Needs(), Run: func(t *testing.T) { check(t, c) }}
		if len(task.Needs) > 0 {
			first = append(first, task)
		} else {
			rest = append(rest, task)
		}
	}
	return slices.Concat(first, rest)
}
