//go:build !unix

package command

import (
	"os/exec"
	"syscall"
)

// Detach does nothing on this system.
func Detach(*exec.Cmd) {}

func detached() *syscall.SysProcAttr { return nil }
