//go:build !linux || !native

package shm

import "github.com/redline-bench/redline/internal/refserver/infer"

// openHandle refuses: this build cannot load the CUDA runtime.
func openHandle(name string, _ []byte, _ int64) (memory, error) {
	return nil, infer.Errorf(infer.InvalidArg, "failed to register shared memory region: invalid args; '%s' is on a GPU, which only redline-native on Linux can reach", name)
}
