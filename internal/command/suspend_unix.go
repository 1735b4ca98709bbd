//go:build unix

package command

import (
	"os"
	"syscall"
)

// suspendSignals are the signals of Ctrl-Z.
func suspendSignals() []os.Signal { return []os.Signal{syscall.SIGTSTP} }

// stopProcess stops this process until it is continued, as Ctrl-Z does.
func stopProcess() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) } // cannot fail for this process
