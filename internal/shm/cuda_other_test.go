//go:build !(linux && native)

package shm_test

import (
	"errors"
	"testing"

	"github.com/redline-bench/redline/internal/shm"
)

func TestCUDANeedsNative(t *testing.T) {
	if _, err := shm.Create(shm.CUDA, "x", 10); !errors.Is(err, shm.ErrNative) {
		t.Errorf("got %v, want %v", err, shm.ErrNative)
	}
}

func openHandles(string) error { return shm.ErrNative }
