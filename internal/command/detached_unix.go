//go:build unix

package command

import "syscall"

// detached keeps the terminal's interrupt away from a child.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
