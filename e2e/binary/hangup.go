package binary

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// StartWithHangup starts a command with the default action for SIGHUP. Under nohup, programs start with SIGHUP ignored; a signal that this
// process handles has its default action in the child.
func StartWithHangup(cmd *exec.Cmd) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	return cmd.Start()
}
