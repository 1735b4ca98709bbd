//go:build unix

// Package files runs the program with unusual places for its output: pipes, devices, links, a full disk, a reader that
// goes away, and a terminal that hangs up.
package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-bench/redline/e2e/binary"
	"github.com/redline-bench/redline/internal/testkit"
)

var bin string

func TestMain(m *testing.M) { binary.Test(m, &bin) }

// program is a short run in a folder of its own; script is what a shell does before it.
func program(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Limit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script + `exec "$@"`, "sh", filepath.Join(bin, "redline")}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + cmd.Dir, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// profile are the arguments of a run of 20 requests.
func profile(more ...string) []string {
	return append([]string{"profile", "-m", "simple", "--embedded", "--request-count", "20"}, more...)
}

// ends waits for a program and checks its exit code.
func ends(t *testing.T, cmd *exec.Cmd, want int) {
	t.Helper()
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != want {
		t.Errorf("%q ends with %d, want %d\n%v", cmd.Args[4:], code, want, cmd.Stderr)
	}
}

func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if cmd.Stderr == nil {
		cmd.Stderr = &binary.Buffer{}
	}
	if err := binary.StartWithHangup(cmd); err != nil {
		t.Fatal(err)
	}
}

// result checks that a text is a whole result.
func result(t *testing.T, text []byte) {
	t.Helper()
	var r struct{ Tool string }
	if err := json.Unmarshal(text, &r); err != nil || r.Tool != "redline" {
		t.Errorf("no result: %v\n%.300s", err, text)
	}
}

func resultFile(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	result(t, text)
}

func mode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s has mode %v, want %v", filepath.Base(path), info.Mode(), want)
	}
}

// The link stands for /dev/stdout, which a mistake of the program must not replace on this machine.
func TestResultOnStandardOutput(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("there is no /proc")
	}
	cmd := program(t, "", profile("--json", "stdout")...)
	link := filepath.Join(cmd.Dir, "stdout")
	if err := os.Symlink("/proc/self/fd/1", link); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(cmd.Dir, "out.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = out
	start(t, cmd)
	ends(t, cmd, 0)
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := bytes.Cut(text, []byte("\n{\n"))
	document, tail, _ := bytes.Cut(rest, []byte("\n}\n"))
	result(t, slices.Concat([]byte("{"), document, []byte("}")))
	if !bytes.HasPrefix(head, []byte("*** Measurement Settings")) || !bytes.Contains(tail, []byte("Verdict")) {
		t.Errorf("the report is not around the result:\n%.300s\n...\n%s", head, tail)
	}
	mode(t, link, fs.ModeSymlink|0o777)
}

func TestResultIntoAPipe(t *testing.T) {
	cmd := program(t, "", profile("--json", "fifo")...)
	fifo := filepath.Join(cmd.Dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte, 1)
	go func() {
		text, _ := os.ReadFile(fifo) // the check of the text finds an error
		got <- text
	}()
	start(t, cmd)
	ends(t, cmd, 0)
	result(t, <-got)
}

// Nothing ever reads from the pipe: SIGTERM must end the run.
func TestAPipeThatNothingReads(t *testing.T) {
	cmd := program(t, "", profile("--json", "fifo", "--report", "r.html")...)
	if err := syscall.Mkfifo(filepath.Join(cmd.Dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout binary.Buffer
	cmd.Stdout = &stdout
	start(t, cmd)
	waitFor(t, "the report", func() bool { return strings.Contains(stdout.String(), "Request concurrency: 1") })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); !errors.As(err, new(*exec.ExitError)) {
		t.Errorf("it ends with %v", err)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "r.html")); err != nil {
		t.Error(err)
	}
}

func TestModesAndLinks(t *testing.T) {
	cmd := program(t, "umask 077; ", profile("--json", "link", "--report", "r.html", "--records", "r.csv", "--profile-export-file", "e.json", "-f", "old.csv", "--summary", "s.md")...)
	in := func(name string) string { return filepath.Join(cmd.Dir, name) }
	if err := errors.Join(os.Symlink("real.json", in("link")), os.WriteFile(in("old.csv"), nil, 0o600), os.Chmod(in("old.csv"), 0o664)); err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	ends(t, cmd, 0)
	for _, name := range []string{"real.json", "r.html", "r.csv", "e.json", "s.md"} {
		mode(t, in(name), 0o600)
	}
	mode(t, in("old.csv"), 0o664)
	mode(t, in("link"), fs.ModeSymlink|0o777)
	resultFile(t, in("link"))
	runs, err := filepath.Glob(in(".local/share/redline/runs/*/*.json"))
	if err != nil || len(runs) != 2 {
		t.Fatal(runs, err)
	}
	mode(t, runs[0], 0o600)
	mode(t, filepath.Dir(runs[0]), fs.ModeDir|0o700)
	if left, err := filepath.Glob(in(".redline-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestAFullStandardOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no /dev/full")
	}
	defer full.Close()
	for _, args := range [][]string{profile("--json", "r.json"), {"version"}, {"help"}, {"history"}} {
		cmd := program(t, "", args...)
		cmd.Stdout = full
		start(t, cmd)
		ends(t, cmd, 99)
		if len(args) > 1 {
			resultFile(t, filepath.Join(cmd.Dir, "r.json"))
		}
		if text := fmt.Sprint(cmd.Stderr); strings.Count(text, "no space left on device") != 1 {
			t.Errorf("%s: %s", args[0], text)
		}
	}
}

// The reader takes one line and goes, as in "| head -1". The files are written anyway.
func TestAReaderThatGoes(t *testing.T) {
	cmd := program(t, "", profile("--json", "r.json", "--report", "r.html")...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	if _, err := io.ReadFull(stdout, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	stdout.Close()
	ends(t, cmd, 0)
	resultFile(t, filepath.Join(cmd.Dir, "r.json"))
	if _, err := os.Stat(filepath.Join(cmd.Dir, "r.html")); err != nil {
		t.Error(err)
	}
}

// The load continues until a signal ends it: no window meets its stability rule.
func TestHangup(t *testing.T) {
	for _, c := range []struct {
		name, script string
		goesOn       bool
	}{{"a terminal that closes", "", false}, {"nohup", "trap '' HUP; ", true}} {
		t.Run(c.name, func(t *testing.T) {
			cmd := program(t, c.script, "profile", "-m", "simple", "--embedded", "-p", "100", "-s", "0.0001", "-r", "100000", "--json", "r.json", "--progress", "json")
			var stderr binary.Buffer
			cmd.Stderr = &stderr
			start(t, cmd)
			reports := func() int { return strings.Count(stderr.String(), `"event":"progress"`) }
			send := func(signal syscall.Signal) {
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
			}
			waitFor(t, "progress", func() bool { return reports() > 0 })
			if !c.goesOn { // terminals and shells send several, and some come late
				go func() {
					for cmd.Process.Signal(syscall.SIGHUP) == nil {
						time.Sleep(100 * time.Microsecond)
					}
				}()
			} else {
				for range 4 {
					send(syscall.SIGHUP)
				}
				before := reports()
				waitFor(t, "more progress", func() bool { return reports() > before+1 })
				send(syscall.SIGTERM)
			}
			ends(t, cmd, 130)
			resultFile(t, filepath.Join(cmd.Dir, "r.json"))
		})
	}
}

// Without a home folder nothing is kept, and nothing appears in the current folder.
func TestWithoutAHome(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
	}{{[]string{"calibrate"}, 99}, {profile(), 0}} {
		cmd := program(t, "", c.args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		start(t, cmd)
		ends(t, cmd, c.code)
		if list, err := os.ReadDir(cmd.Dir); err != nil || len(list) > 0 {
			t.Errorf("%q wrote %v %v", c.args, list, err)
		}
		if c.code != 0 && !strings.Contains(fmt.Sprint(cmd.Stderr), "HOME") {
			t.Errorf("the message does not say what to do: %v", cmd.Stderr)
		}
	}
}

// waitFor calls ready until it is true.
func waitFor(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}
