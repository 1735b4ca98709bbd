//go:build unix

package command

import (
	"os/exec"
	"syscall"
)

// Detach keeps the terminal's interrupt away from a command and from what the command starts. The end of the command's context ends
// all of them.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = detached()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// detached keeps the terminal's interrupt away from a child.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
