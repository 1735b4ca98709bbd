//go:build !linux

package shm

import (
	"errors"
	"runtime"
)

func createSystem(string, int) (string, memory, error) {
	return "", nil, errors.New("system shared memory is not supported on " + runtime.GOOS + ": run the client on Linux, beside the server")
}

// RemoveStale does nothing: this platform has no regions.
func RemoveStale() []string { return nil }
