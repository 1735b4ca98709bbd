//go:build !unix

package command

import "syscall"

func detached() *syscall.SysProcAttr { return nil }
