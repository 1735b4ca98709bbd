//go:build linux && native

package shm

import (
	"encoding/binary"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// handleSize is the size of a cudaIpcMemHandle_t.
const handleSize = 64

// The directions of cudaMemcpy, and the flag of cudaIpcOpenMemHandle.
const (
	toDevice   = 1
	toHost     = 2
	lazyAccess = 1
)

// gpu is another process's memory on a GPU, opened here.
type gpu struct {
	api    *runtimeAPI
	name   string
	device int64
	ptr    uintptr
}

// runtimeAPI is the part of the CUDA runtime that regions need. The functions return a cudaError_t.
type runtimeAPI struct {
	setDevice   func(device int32) int32
	open        uintptr
	closeHandle func(ptr uintptr) int32
	upload      func(dst uintptr, src unsafe.Pointer, size uintptr, kind int32) int32
	download    func(dst unsafe.Pointer, src uintptr, size uintptr, kind int32) int32
	errorString func(code int32) string
}

// loadRuntime loads libcudart; the loader answers from memory after the first time.
func loadRuntime() *runtimeAPI {
	var lib uintptr
	for _, name := range []string{"libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "/usr/local/cuda/lib64/libcudart.so"} {
		if l, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL); err == nil {
			lib = l
			break
		}
	}
	if lib == 0 {
		return nil
	}
	api := &runtimeAPI{}
	symbols := map[string]uintptr{}
	for _, name := range []string{"cudaSetDevice", "cudaIpcOpenMemHandle", "cudaIpcCloseMemHandle", "cudaMemcpy", "cudaGetErrorString"} {
		sym, err := purego.Dlsym(lib, name)
		if err != nil {
			return nil
		}
		symbols[name] = sym
	}
	purego.RegisterFunc(&api.setDevice, symbols["cudaSetDevice"])
	purego.RegisterFunc(&api.closeHandle, symbols["cudaIpcCloseMemHandle"])
	// One function under two types: the pointer on the GPU must stay a number for Go.
	purego.RegisterFunc(&api.upload, symbols["cudaMemcpy"])
	purego.RegisterFunc(&api.download, symbols["cudaMemcpy"])
	purego.RegisterFunc(&api.errorString, symbols["cudaGetErrorString"])
	api.open = symbols["cudaIpcOpenMemHandle"]
	return api
}

func openHandle(name string, handle []byte, device int64) (memory, error) {
	if len(handle) != handleSize {
		return nil, infer.Errorf(infer.InvalidArg, "failed to register shared memory region: invalid args; the handle of '%s' has %d bytes, not %d", name, len(handle), handleSize)
	}
	api := loadRuntime()
	if api == nil {
		return nil, infer.Errorf(infer.InvalidArg, "failed to register shared memory region: invalid args; '%s' is on a GPU, and the CUDA runtime could not be loaded: put the folder of libcudart.so on LD_LIBRARY_PATH", name)
	}
	g := &gpu{api: api, name: name, device: device}
	return g, g.on("cudaIpcOpenMemHandle", func() int32 { return openIPC(api.open, &g.ptr, handle) })
}

// openIPC calls a C function that takes a structure of 64 bytes by value. On arm64 that is a pointer to a copy. On amd64
// the structure lies on the stack, behind the arguments in registers: the four that the function does not have are filled up.
func openIPC(fn uintptr, ptr *uintptr, handle []byte) int32 {
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(ptr)
	out := uintptr(unsafe.Pointer(ptr))
	if runtime.GOARCH == "arm64" {
		pin.Pin(&handle[0])
		code, _, _ := purego.SyscallN(fn, out, uintptr(unsafe.Pointer(&handle[0])), lazyAccess)
		return int32(code)
	}
	args := []uintptr{out, lazyAccess, 0, 0, 0, 0}
	for i := 0; i < handleSize; i += 8 {
		args = append(args, uintptr(binary.NativeEndian.Uint64(handle[i:])))
	}
	code, _, _ := purego.SyscallN(fn, args...)
	return int32(code)
}

// on runs a call with the region's GPU as the thread's device.
func (g *gpu) on(call string, f func() int32) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	code := g.api.setDevice(int32(g.device))
	if code == 0 {
		code = f()
	} else {
		call = "cudaSetDevice"
	}
	if code != 0 {
		return infer.Errorf(infer.InvalidArg, "CUDA shared memory region '%s': %s: %s", g.name, call, g.api.errorString(code))
	}
	return nil
}

func (g *gpu) read(offset uint64, to []byte) error {
	if len(to) == 0 {
		return nil
	}
	return g.on("cudaMemcpy", func() int32 {
		return g.api.download(unsafe.Pointer(unsafe.SliceData(to)), g.ptr+uintptr(offset), uintptr(len(to)), toHost)
	})
}

func (g *gpu) write(offset uint64, from []byte) error {
	if len(from) == 0 {
		return nil
	}
	return g.on("cudaMemcpy", func() int32 {
		return g.api.upload(g.ptr+uintptr(offset), unsafe.Pointer(unsafe.SliceData(from)), uintptr(len(from)), toDevice)
	})
}

func (g *gpu) close() {
	_ = g.on("cudaIpcCloseMemHandle", func() int32 { return g.api.closeHandle(g.ptr) }) // the owner may be gone already
}
