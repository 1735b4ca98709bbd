package faults

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/result"
)

const (
	// patience bounds a run. Nothing is measured by it.
	patience = 90 * time.Second
	// mostMemory is how much a run may take; one without faults takes about 40 MiB.
	mostMemory = 200 << 20
	// moreFiles is how many more files may be open at the last fault than at the first.
	moreFiles = 3
)

// ended is how a run ended.
type ended struct {
	code int
	text string
	*result.Result
}

// panicked finds the text of a crash.
var panicked = regexp.MustCompile(`(?m)^(panic:|fatal error:|goroutine \d+ \[)|SIGSEGV|runtime error`)

// start runs a command of the server s in a folder of its own.
func start(t *testing.T, s *front, w wire, args ...string) (*exec.Cmd, *binary.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	args = slices.Clone(args)
	for i, a := range args {
		args[i] = strings.Replace(a, "ADDRESS", w.address(s), 1)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, args[0]), args[1:]...)
	var out binary.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &out
	cmd.Env = append(os.Environ(), "GOTRACEBACK=all", "HOME="+cmd.Dir)
	s.mu.Lock() // until the server knows the process, it answers nothing
	defer s.mu.Unlock()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	return cmd, &out
}

// load runs a command against s until it ends, and checks what every run must do: end by itself, not crash, and leave neither files open
// nor memory in use.
func load(t *testing.T, s *front, c command, w wire, more ...string) ended {
	t.Helper()
	cmd, out := start(t, s, w, slices.Concat(c.args, w.args, more)...)
	err := cmd.Wait()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	e := ended{cmd.ProcessState.ExitCode(), out.String(), &result.Result{}}
	if e.code < 0 || panicked.MatchString(e.text) {
		t.Fatalf("%v: %v\n%s", cmd.Args, cmd.ProcessState, e.text)
	}
	if most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; most > mostMemory {
		t.Errorf("it took %d MiB", most>>20)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.files); n > 0 && s.files[n-1] > s.files[0]+moreFiles {
		t.Errorf("open files at each fault: %v", s.files)
	}
	if !c.report() {
		return e
	}
	text, err := os.ReadFile(filepath.Join(cmd.Dir, "r.json"))
	if err != nil {
		return e // the load did not begin
	}
	if err := json.Unmarshal(text, e.Result); err != nil {
		t.Fatal(err)
	}
	return e
}

// failures counts the failed requests of all levels by class. Texts are all texts of failures.
func (e ended) failures() (byClass map[string]int, texts string) {
	byClass = map[string]int{}
	for _, l := range e.Levels {
		for _, f := range l.Failures {
			byClass[f.Class] += int(f.Count)
			texts += f.Text + "\n"
		}
	}
	return byClass, texts
}

// succeeded is the number of requests that got a response.
func (e ended) succeeded() int {
	n := 0
	for _, l := range e.Levels {
		n += int(l.Client.Requests)
	}
	return n
}
