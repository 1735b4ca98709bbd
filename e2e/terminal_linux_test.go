package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

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
	if !regexp.MustCompile(`concurrency 1 .*infer/sec.*p50 \d+ usec`).Match(shown.Bytes()) {
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
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		slave.Close()
		var shown bytes.Buffer
		shown.ReadFrom(master)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, shown.String())
		}
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
