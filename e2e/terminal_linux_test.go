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
)

// On a terminal a progress line shows the level, the rate and the median while the run works, and is gone at the
// end. What goes to stdout has nothing of it.
func TestProgressOnATerminal(t *testing.T) {
	master, slave := openTerminal(t)
	cmd := exec.Command(filepath.Join(bin, "redline"), "profile", "--embedded", "-m", "simple", "-p", "400", "-r", "3", "-s", "99999")
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
		t.Skipf("no pseudo terminals here: %v", err)
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
