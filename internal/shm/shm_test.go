package shm_test

import (
	"errors"
	"testing"

	"github.com/redline-bench/redline/internal/shm"
)

func TestNames(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(shm.InputName("INPUT0", 0, 12), "INPUT0_0_12")
	f(shm.InputName(`scope/in\put:0`, 3, 0), "scopeinput:0_3_0")
	f(shm.OutputName("a/b/c"), "abc")
	f(shm.System.String(), "system")
	f(shm.CUDA.String(), "cuda")
}

func TestCreateRefuses(t *testing.T) {
	f := func(kind shm.Kind, size int) {
		t.Helper()
		if r, err := shm.Create(kind, "x", size); err == nil {
			r.Close()
			t.Errorf("%v of %d bytes was created", kind, size)
		}
	}
	f(shm.System, 0)
	f(shm.System, -1)
	f(shm.CUDA, 0)
	f(shm.Kind(9), 1)
}

// checkReadWrite holds for every kind.
func checkReadWrite(t *testing.T, r *shm.Region) {
	t.Helper()
	const size = 1000
	got := make([]byte, size)
	if err := r.Read(0, got); err != nil {
		t.Fatal(err)
	}
	for i, b := range got {
		if b != 0 {
			t.Fatalf("byte %d of a new region is %d", i, b)
		}
	}
	if err := r.Write(990, []byte("0123456789")); err != nil {
		t.Error(err)
	}
	if err := r.Read(995, got[:5]); err != nil || string(got[:5]) != "56789" {
		t.Errorf("read back %q, %v", got[:5], err)
	}
	if err := r.Write(size, nil); err != nil {
		t.Errorf("nothing at the end: %v", err)
	}
	outside := func(off, n int) {
		t.Helper()
		if err := r.Write(off, make([]byte, n)); !errors.Is(err, shm.ErrRange) {
			t.Errorf("write of %d at %d: %v", n, off, err)
		}
		if err := r.Read(off, make([]byte, n)); !errors.Is(err, shm.ErrRange) {
			t.Errorf("read of %d at %d: %v", n, off, err)
		}
	}
	outside(-1, 1)
	outside(size, 1)
	outside(991, 10)
	outside(size+1, 0)
	if err := r.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if err := r.Write(0, []byte{1}); !errors.Is(err, shm.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
	if r.Bytes() != nil {
		t.Error("bytes after close")
	}
}
