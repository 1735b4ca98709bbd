//go:build !linux

package shm

import "github.com/redline-bench/redline/internal/refserver/infer"

func mapKey(name, _ string, _, _ uint64) (memory, error) {
	return nil, infer.Errorf(infer.Unsupported, "shared memory region '%s' cannot be mapped: this system has no /dev/shm; run the server on Linux", name)
}

func unmap([]byte) {}
