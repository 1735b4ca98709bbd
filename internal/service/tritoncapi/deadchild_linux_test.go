package tritoncapi

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that Triton waits for in vain is found by its remains.
func TestDeadChild(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "exit 7")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	var err error = unix.EINTR
	for errors.Is(err, unix.EINTR) { // until the shell has ended; it stays a zombie until cmd.Wait
		err = unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	name, status, found := deadChild(os.Getpid())
	if !found || name != "sh" || status != 7 {
		t.Errorf("found %v: %q ended with status %d", found, name, status)
	}
}
