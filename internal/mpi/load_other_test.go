//go:build !(linux && native)

package mpi_test

import (
	"errors"
	"testing"

	"github.com/redline-bench/redline/internal/mpi"
)

func TestInitNeedsNative(t *testing.T) {
	if _, err := mpi.Init(); !errors.Is(err, mpi.ErrNative) {
		t.Errorf("got %v, want %v", err, mpi.ErrNative)
	}
}
