package binary

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// StartWithHangup starts a command that a hangup ends as it ends any program. Under nohup, programs start with hangups
// ignored; a signal that is handled here has its default action there.
func StartWithHangup(cmd *exec.Cmd) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	return cmd.Start()
}
