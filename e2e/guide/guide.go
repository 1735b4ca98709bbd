// Package guide runs the commands of perf_analyzer's guide on service kinds as they are printed there, except for paths
// and addresses, and compares the shape of the output with the one that the guide shows.
package guide

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/e2e/peers"
	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// Command is one of the guide's.
type Command struct {
	Program string // perf_analyzer
	Dir     string
	Env     []string
	Args    []string
	Shows   string // the lines of the report in their order, each number as #
}

// Parts of what the commands show.
const (
	Windows = `  Using "time_windows" mode for stabilization
  Stabilizing using average latency and throughput
  Measurement window: # msec
  Using synchronous calls for inference
`
	Level = `
Request concurrency: #
  Client: 
    Request count: #
    Throughput: # infer/sec
    Avg latency: # usec (standard deviation # usec)
    p50 latency: # usec
    p90 latency: # usec
    p95 latency: # usec
    p99 latency: # usec
`
	Summary = `Inferences/Second vs. Client Average Batch Latency
Concurrency: #, throughput: # infer/sec, latency # usec
`
)

// unstable is perf_analyzer's message if the windows of a run differ, as they may while other work uses the machine.
const unstable = "Failed to obtain stable measurement"

// delayed is perf_analyzer's warning if other work on the machine delayed the client.
const delayed = "[WARNING] Perf Analyzer is not able to keep up with the desired load. The results may not be accurate.\n"

// Check runs the command: unchanged in `make test-heavy`, otherwise with short windows. If the windows of a run differ, it is repeated
// without a stability rule.
func Check(t *testing.T, c *Command) {
	t.Helper()
	anyWindows := append(slices.Clone(c.Args), "-s", "99999")
	args := c.Args
	if !outcome.Heavy() {
		args = slices.Concat(anyWindows, []string{"-p", "500"})
	}
	var stdout, stderr string
	var code int
	peers.RepeatCrashed(t, func() string {
		if stdout, stderr, code = c.run(t, args); code != 0 {
			return stderr
		}
		return ""
	})
	if outcome.Heavy() && code != 0 && strings.Contains(stderr, unstable) {
		t.Logf("the windows differ: %s", stderr)
		stdout, stderr, code = c.run(t, anyWindows)
	}
	if code != 0 {
		t.Fatalf("%s: exit code %d\n%s%s", strings.Join(c.Args, " "), code, stdout, stderr)
	}
	got := strings.Replace(number.ReplaceAllString(stdout, "#"), delayed, "", 1)
	if want := strings.TrimPrefix(c.Shows, "\n"); got != want {
		t.Errorf("%s\nshows\n%s\ninstead of\n%s", strings.Join(c.Args, " "), got, want)
	}
}

func (c *Command) run(t *testing.T, args []string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.Program, args...)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Env...)
	return binary.Output(t, cmd)
}

// number is one that stands for itself: p50 is a name.
var number = regexp.MustCompile(`\b\d+(\.\d+)?(e[-+]\d+)?\b`)
