//go:build !linux

package shm

import (
	"errors"
	"runtime"
)

func createSystem(string, int) (string, memory, error) {
	return "", nil, errors.New("system shared memory is not supported on " + runtime.GOOS + ": run the client on Linux, beside the server")
}

// RemoveStale has nothing to remove where no regions can be made.
func RemoveStale() []string { return nil }
