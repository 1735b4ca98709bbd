// Package death kills real servers under load and checks redline profile and perf_analyzer mode: the run must end in time, with the right
// exit code, a clear message, and a report of what was measured.
package death

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Case is a server and a load for it.
type Case struct {
	Bin string // the folder with perf_analyzer and redline
	Dir string // where they run
	Env []string
	// Start runs the server and returns where it listens, and what kills it.
	Start func(t *testing.T) (addr string, kill func())
	Args  []string // all except the address
}

// limit is how long a run may take after its server's death. Slots without a server wait between their attempts.
const limit = 3 * time.Minute

var measured = regexp.MustCompile(`(?m)^    Request count: [1-9]`)

// Check runs redline profile and perf_analyzer mode, each on its own server, which dies.
func Check(t *testing.T, c *Case) {
	t.Run("dies under perf_analyzer", func(t *testing.T) {
		_, errs, code := c.run(t, "perf_analyzer")
		if code != 99 {
			t.Errorf("exit code %d instead of 99", code)
		}
		for _, want := range []string{"Measured before the run ended:", "had error: "} {
			if !strings.Contains(errs, want) {
				t.Errorf("no %q", want)
			}
		}
		if !measured.MatchString(errs) {
			t.Error("nothing of what was measured is in the report")
		}
		if t.Failed() {
			t.Log(errs)
		}
	})
	t.Run("dies under redline", func(t *testing.T) {
		out, errs, code := c.run(t, "redline", "profile", "--progress", "none")
		if code == 0 {
			t.Error("exit code 0")
		}
		for _, want := range []string{"Failures: ", "Verdict: server-failed"} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q", want)
			}
		}
		if !measured.MatchString(out) {
			t.Error("nothing of what was measured is in the report")
		}
		if n := strings.Count(errs, "redline profile: "); n != 1 {
			t.Errorf("%d lines of why instead of one", n)
		}
		if t.Failed() {
			t.Log(out, errs)
		}
	})
}

func (c *Case) run(t *testing.T, program string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	addr, kill := c.Start(t)
	args = append(args, "-v", "-u", addr, "-p", "500", "-s", "0", "-r", "400", "--concurrency-range", "2")
	args = append(args, c.Args...)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.Bin, program), args...)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var errs bytes.Buffer
	out := AfterWindows(kill)
	cmd.Stdout, cmd.Stderr = out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("no end within %s\n%s%s", limit, out.String(), errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Trigger is a buffer for the output of perf_analyzer -v. It calls a function, once, when requests ended in two windows.
type Trigger struct {
	text bytes.Buffer
	do   func()
	once sync.Once
}

// window is the line of a window in which requests ended.
var window = regexp.MustCompile(`Pass \[\d+\] throughput: [0.]*[1-9]`)

// AfterWindows is a buffer that calls do.
func AfterWindows(do func()) *Trigger { return &Trigger{do: do} }

// Write appends p.
func (b *Trigger) Write(p []byte) (int, error) {
	n, err := b.text.Write(p)
	if len(window.FindAllIndex(b.text.Bytes(), 2)) == 2 {
		b.once.Do(b.do)
	}
	return n, err
}

// String is the text so far.
func (b *Trigger) String() string { return b.text.String() }
