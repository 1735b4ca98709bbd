//go:build unix

package tune

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks a file until it is closed or the process ends; false if another process has locked it. A file system without locks
// has none.
func lockFile(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
