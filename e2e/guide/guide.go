// Package guide runs the commands of perf_analyzer's guide on service kinds as they are printed there, but for paths
// and addresses, and compares the shape of the output with the one that the guide shows.
package guide

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
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

// tries is how often a command may fail: windows differ, and helpers of servers fall ill, while other work has the
// machine. The last one takes windows as they come.
const tries = 4

// Check runs the command.
func Check(t *testing.T, c *Command) {
	t.Helper()
	var out, errs bytes.Buffer
	code := -1
	for try := 1; try <= tries && code != 0; try++ {
		out.Reset()
		errs.Reset()
		args := c.Args
		if try == tries {
			args = append(slices.Clone(args), "-s", "99999")
		}
		cmd := exec.CommandContext(t.Context(), c.Program, args...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, append(os.Environ(), c.Env...), &out, &errs
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		code = cmd.ProcessState.ExitCode()
	}
	if code != 0 {
		t.Fatalf("%s: exit code %d\n%s%s", strings.Join(c.Args, " "), code, out.String(), errs.String())
	}
	got := number.ReplaceAllString(out.String(), "#")
	if want := strings.TrimPrefix(c.Shows, "\n"); got != want {
		t.Errorf("%s\nshows\n%s\ninstead of\n%s", strings.Join(c.Args, " "), got, want)
	}
}

// number is one that stands for itself: p50 is a name.
var number = regexp.MustCompile(`\b\d+(\.\d+)?(e[-+]\d+)?\b`)
