//go:build !linux

package cli

import "os/exec"

func notifyOnDeath(*exec.Cmd) (release func()) { return func() {} }

func endWithLauncher() {}
