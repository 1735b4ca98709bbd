package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// On a terminal a progress line shows the level, the rate and the median while the run works, and has gone at the
// end. What goes to stdout has nothing of it.
func TestProgressOnATerminal(t *testing.T) {
	master, slave := openTerminal(t)
	cmd := exec.Command(filepath.Join(bin, "redline"), "profile", "--embedded", "-m", "simple", "-p", "500", "-r", "3", "-s", "99999")
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	var shown bytes.Buffer
	shown.ReadFrom(master) // ends with an error when the last writer has closed the terminal
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, shown.String())
	}
	if !regexp.MustCompile(`concurrency 1 .*infer/sec.*p50 [\d.]+ [µm]s`).Match(shown.Bytes()) {
		t.Errorf("no progress line in %q", shown.String())
	}
	if tail := shown.Bytes(); !bytes.HasSuffix(bytes.TrimRight(tail, "\r\n"), []byte("\x1b[K")) {
		t.Errorf("the progress line was not taken away: %q", tail[max(0, len(tail)-80):])
	}
	if bytes.ContainsAny(stdout.Bytes(), "\x1b\r") {
		t.Errorf("stdout has control characters: %q", stdout.String())
	}
}

func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		outcome.NotTested(t, "what is shown on a terminal", err, "")
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 120}); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// A terminal that knows the signs shows the latencies of each level as columns; others, and perf_analyzer mode, do not.
func TestShapesOnATerminal(t *testing.T) {
	f := func(name, locale string, want bool) {
		t.Helper()
		master, slave := openTerminal(t)
		args := []string{"-m", "simple", "--request-count", "200"}
		if name == "redline" {
			args = append([]string{"profile", "--embedded"}, args...)
		} else {
			s, err := startServer(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Stop()
			args = append(args, "-u", s.HTTP)
		}
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Env = append(os.Environ(), "LC_ALL="+locale, "NO_COLOR=1")
		cmd.Stdout, cmd.Stderr = slave, slave
		shown := onTerminal(t, cmd, master, slave)
		if got := bytes.Contains(shown.Bytes(), []byte("█ ")) || bytes.Contains(shown.Bytes(), []byte("on a logarithmic scale")); got != want {
			t.Errorf("%s with %s: columns %v, want %v in\n%s", name, locale, got, want, shown.String())
		}
		if bytes.Contains(shown.Bytes(), []byte("\x1b[3")) {
			t.Errorf("%s with NO_COLOR has colors:\n%q", name, shown.String())
		}
	}
	f("redline", "C.UTF-8", true)
	f("redline", "C", false)
	f("perf_analyzer", "C.UTF-8", false)
}

// The report fits the terminal: lines are folded, and tables omit columns.
func TestReportFitsTheTerminal(t *testing.T) {
	master, slave := openTerminal(t)
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(bin, "redline"), "profile", "--embedded", "-m", "simple", "--request-rate-range", "100", "--request-count", "120", "--no-history")
	cmd.Env = slices.DeleteFunc(append(os.Environ(), "LC_ALL=C.UTF-8", "NO_COLOR=1"), func(v string) bool { return strings.HasPrefix(v, "COLUMNS=") })
	cmd.Stdout = slave
	shown := onTerminal(t, cmd, master, slave)
	for line := range strings.Lines(shown.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"  Latency: ", "    from schedule ", "Verdict: "} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("no %q in\n%s", want, shown.String())
		}
	}
}

// viewRun is a run with --tui on a terminal. Its output is complete when the run has ended.
type viewRun struct {
	cmd    *exec.Cmd
	master *os.File
	shown  bytes.Buffer
}

func startView(t *testing.T, env string, args ...string) *viewRun {
	t.Helper()
	master, slave := openTerminal(t)
	cmd := exec.Command(filepath.Join(bin, "redline"), append(args, "--tui", "--no-history")...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", env)
	cmd.Stderr = slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	return &viewRun{cmd: cmd, master: master}
}

// removed is how a view of several rows is removed: up to its first row, and clear from there.
var removed = regexp.MustCompile("\x1b\\[[0-9]+A\x1b\\[J")

// until reads what the run shows until it shows what the expression matches.
func (v *viewRun) until(t *testing.T, expression *regexp.Regexp) {
	t.Helper()
	part := make([]byte, 4096)
	for from := v.shown.Len(); !expression.Match(v.shown.Bytes()[from:]); {
		n, err := v.master.Read(part)
		v.shown.Write(part[:n])
		if err != nil {
			t.Fatalf("the run ended before it showed %s: %q", expression, v.shown.String())
		}
	}
}

// end reads the rest and returns the exit code.
func (v *viewRun) end() int {
	v.shown.ReadFrom(v.master)
	v.cmd.Wait()
	return v.cmd.ProcessState.ExitCode()
}

// gone fails if the view was not removed at the end of what was shown.
func (v *viewRun) gone(t *testing.T) {
	t.Helper()
	all := v.shown.Bytes()
	if tail := all[max(0, bytes.LastIndex(all, []byte("> concurrency"))):]; !removed.Match(tail) {
		t.Errorf("the view was not removed: %q", tail)
	}
	for _, mode := range []string{"\x1b[?25l", "\x1b[?1049h"} { // hidden cursor, other screen
		if bytes.Contains(all, []byte(mode)) {
			t.Errorf("the view changes the mode of the terminal: %q", mode)
		}
	}
}

// --tui shows a row for each level, in place, and has gone at the end: after the run, and after Ctrl-C.
func TestViewOnATerminal(t *testing.T) {
	v := startView(t, "NO_COLOR=1", "profile", "--embedded", "-m", "simple", "-p", "500", "-r", "3", "-s", "99999", "--concurrency-range", "1:2")
	if code := v.end(); code != 0 {
		t.Errorf("exit code %d: %s", code, v.shown.String())
	}
	for _, want := range []string{`level 2 of 2, concurrency 2 .*infer/sec`, `  concurrency 1 +[0-9.]+ +[▁▂▃▄▅▆▇█]+ +[0-9.]+ [µm]s +[▁▂▃▄▅▆▇█]+`, `> concurrency 2 `, "\x1b\\[[0-9]+A"} {
		if !regexp.MustCompile(want).Match(v.shown.Bytes()) {
			t.Errorf("nothing like %s in %q", want, v.shown.String())
		}
	}
	if bytes.Contains(v.shown.Bytes(), []byte("\x1b[1m")) {
		t.Errorf("styles with NO_COLOR: %q", v.shown.String())
	}
	v.gone(t)

	v = startView(t, "NO_COLOR=", "llm", "--embedded", "-m", "mock-llm", "--streaming", "--concurrency", "2", "--output-tokens-mean", "20", "--benchmark-duration", "60")
	v.until(t, regexp.MustCompile(`tokens/s[^>]*> concurrency 2`))
	if err := v.cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := v.end(); code != 130 {
		t.Errorf("exit code %d after an interrupt", code)
	}
	v.gone(t)
}

// Ctrl-Z removes the view before the process stops. It comes back when the process goes on.
func TestViewSuspended(t *testing.T) {
	v := startView(t, "NO_COLOR=1", "profile", "--embedded", "-m", "simple", "-p", "60000")
	row := regexp.MustCompile("> concurrency 1")
	v.until(t, row)
	pid := v.cmd.Process.Pid
	if err := unix.Kill(pid, unix.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the process did not stop: %v, %v", status, err)
	}
	v.until(t, removed)
	v.gone(t)
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	v.until(t, row)
	for range 2 {
		if err := unix.Kill(pid, unix.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	if code := v.end(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	v.gone(t)
}

// onTerminal runs a command whose output goes to the terminal, and returns what the terminal shows. The command must succeed.
func onTerminal(t *testing.T, cmd *exec.Cmd, master, slave *os.File) *bytes.Buffer {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	shown := &bytes.Buffer{}
	shown.ReadFrom(master)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, shown.String())
	}
	return shown
}
