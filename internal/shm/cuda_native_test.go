//go:build linux && native

package shm_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/redline-bench/redline/internal/shm"
)

// needGPU ends the test if there is none.
func needGPU(t *testing.T) {
	t.Helper()
	r, err := shm.Create(shm.CUDA, "probe", 1)
	if err == nil {
		err = r.Close()
	}
	if err != nil {
		t.Skipf("no GPU here: %v", err)
	}
}

func TestCUDA(t *testing.T) {
	needGPU(t)
	r, err := shm.Create(shm.CUDA, "TestCUDA", 1000)
	if err != nil {
		t.Fatal(err)
	}
	if r.Bytes() != nil || r.Key() != "" || len(r.Handle()) != 64 || r.Device() != 0 || r.Size() != 1000 {
		t.Errorf("bytes %v, key %q, handle of %d, device %d, size %d", r.Bytes(), r.Key(), len(r.Handle()), r.Device(), r.Size())
	}
	checkReadWrite(t, r)
}

func TestCUDATooLarge(t *testing.T) {
	needGPU(t)
	r, err := shm.Create(shm.CUDA, "TestCUDATooLarge", 1<<50)
	if err == nil {
		r.Close()
		t.Fatal("a pebibyte was created")
	}
	if !strings.Contains(err.Error(), "cudaMalloc: out of memory") {
		t.Error(err)
	}
}

// A second process opens the handles, as a server does, reads what this one wrote and writes a response. Small
// regions share one allocation of the driver, so several are needed to see that each handle leads to its own.
func TestCUDAFromAnotherProcess(t *testing.T) {
	needGPU(t)
	sizes := []int{16, 64, 1 << 20, 4097, 16 << 20}
	var regions []*shm.Region
	var arg strings.Builder
	for i, size := range sizes {
		r, err := shm.Create(shm.CUDA, fmt.Sprint(i), size)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if err := r.Write(0, pattern(i, size)); err != nil {
			t.Fatal(err)
		}
		regions = append(regions, r)
		fmt.Fprintf(&arg, "%d:%s ", size, hex.EncodeToString(r.Handle()))
	}
	out, err := child(t, "open "+arg.String()).Output()
	if err != nil {
		t.Fatalf("the second process: %v\n%s", err, out)
	}
	if got, want := strings.Count(string(out), "same\n"), len(sizes); got != want {
		t.Errorf("%d of %d regions read the same in the second process:\n%s", got, want, out)
	}
	for i, size := range sizes {
		got := make([]byte, size)
		if err := regions[i].Read(0, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, pattern(i+100, size)) {
			t.Errorf("region %d does not hold what the second process wrote", i)
		}
	}
}

// pattern is different for each seed and position.
func pattern(seed, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(seed*31 + i + i>>8)
	}
	return b
}

// openHandles is the server's side: cudaIpcOpenMemHandle takes the handle by value.
func openHandles(arg string) error {
	type handle [8]uint64
	var (
		lib  uintptr
		err  error
		open func(ptr *uintptr, h struct{ A, B, C, D, E, F, G, H uint64 }, flags uint32) int32
		up   func(dst uintptr, src unsafe.Pointer, size uintptr, kind int32) int32
		down func(dst unsafe.Pointer, src uintptr, size uintptr, kind int32) int32
		shut func(ptr uintptr) int32
	)
	for _, name := range []string{"libcudart.so", "libcudart.so.13", "libcudart.so.12", "/usr/local/cuda/lib64/libcudart.so"} {
		if lib, err = purego.Dlopen(name, purego.RTLD_NOW); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	purego.RegisterLibFunc(&open, lib, "cudaIpcOpenMemHandle")
	purego.RegisterLibFunc(&up, lib, "cudaMemcpy")
	purego.RegisterLibFunc(&down, lib, "cudaMemcpy")
	purego.RegisterLibFunc(&shut, lib, "cudaIpcCloseMemHandle")
	for i, field := range strings.Fields(arg) {
		var size int
		var text string
		if _, err := fmt.Sscanf(field, "%d:%s", &size, &text); err != nil {
			return err
		}
		raw, err := hex.DecodeString(text)
		if err != nil {
			return err
		}
		var h handle
		for k := range h {
			h[k] = binary.NativeEndian.Uint64(raw[8*k:])
		}
		var ptr uintptr
		if code := open(&ptr, struct{ A, B, C, D, E, F, G, H uint64 }{h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]}, 1); code != 0 {
			return fmt.Errorf("region %d: cudaIpcOpenMemHandle: %d", i, code)
		}
		got := make([]byte, size)
		if code := down(unsafe.Pointer(&got[0]), ptr, uintptr(size), 2); code != 0 {
			return fmt.Errorf("region %d: cudaMemcpy to host: %d", i, code)
		}
		if bytes.Equal(got, pattern(i, size)) {
			fmt.Fprintln(os.Stdout, "same")
		} else {
			fmt.Fprintf(os.Stdout, "region %d differs: %x...\n", i, got[:min(16, size)])
		}
		answer := pattern(i+100, size)
		if code := up(ptr, unsafe.Pointer(&answer[0]), uintptr(size), 1); code != 0 {
			return fmt.Errorf("region %d: cudaMemcpy to device: %d", i, code)
		}
		if code := shut(ptr); code != 0 {
			return fmt.Errorf("region %d: cudaIpcCloseMemHandle: %d", i, code)
		}
	}
	return nil
}
