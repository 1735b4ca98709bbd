//go:build linux && native

package shm

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// libraries are tried in turn. The loader searches for plain names along LD_LIBRARY_PATH and in the system's folders.
func libraries() []string {
	return []string{
		"libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so.11",
		"/usr/local/cuda/lib64/libcudart.so",
	}
}

// handleSize is the size of a cudaIpcMemHandle_t.
const handleSize = 64

// The directions of cudaMemcpy.
const (
	toDevice = 1
	toHost   = 2
)

// runtimeAPI is the part of the CUDA runtime that regions need. All but the last return a cudaError_t.
type runtimeAPI struct {
	setDevice    func(device int32) int32
	malloc       func(ptr *uintptr, size uintptr) int32
	memset       func(ptr uintptr, value int32, size uintptr) int32
	upload       func(dst uintptr, src unsafe.Pointer, size uintptr, kind int32) int32
	download     func(dst unsafe.Pointer, src uintptr, size uintptr, kind int32) int32
	ipcMemHandle func(handle *[handleSize]byte, ptr uintptr) int32
	free         func(ptr uintptr) int32
	errorString  func(code int32) string
}

// openRuntime loads libcudart. The loader counts references and caches the library, so each region opens it itself and no state
// is shared.
func openRuntime() (*runtimeAPI, error) {
	var lib uintptr
	for _, name := range libraries() {
		var err error
		if lib, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL); err == nil {
			break
		}
	}
	if lib == 0 {
		return nil, notLoaded()
	}
	api := &runtimeAPI{}
	for name, fn := range map[string]any{
		"cudaSetDevice":       &api.setDevice,
		"cudaMalloc":          &api.malloc,
		"cudaMemset":          &api.memset,
		"cudaIpcGetMemHandle": &api.ipcMemHandle,
		"cudaFree":            &api.free,
		"cudaGetErrorString":  &api.errorString,
	} {
		sym, err := purego.Dlsym(lib, name)
		if err != nil {
			return nil, fmt.Errorf("libcudart lacks %s: %w", name, err)
		}
		purego.RegisterFunc(fn, sym)
	}
	memcpy, err := purego.Dlsym(lib, "cudaMemcpy")
	if err != nil {
		return nil, fmt.Errorf("libcudart lacks cudaMemcpy: %w", err)
	}
	// One function under two types: the pointer on the GPU must stay a number for Go.
	purego.RegisterFunc(&api.upload, memcpy)
	purego.RegisterFunc(&api.download, memcpy)
	return api, nil
}

// notLoaded returns why there is no CUDA runtime. Without a driver the runtime would not work either; the first line is then the
// runtime's own message.
func notLoaded() error {
	err := fmt.Errorf("the CUDA runtime could not be loaded (tried %s): put its folder on LD_LIBRARY_PATH",
		strings.Join(libraries(), ", "))
	if _, missing := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW|purego.RTLD_LOCAL); missing == nil {
		return err
	}
	return fmt.Errorf("CUDA driver version is insufficient for CUDA runtime version\nno CUDA driver is installed here, and %w", err)
}

// check turns a cudaError_t into an error.
func (api *runtimeAPI) check(call string, code int32) error {
	if code == 0 {
		return nil
	}
	return &CUDAError{Call: call, Text: api.errorString(code), Code: int(code)}
}

// on runs f with the region's GPU as the calling thread's device.
func (api *runtimeAPI) on(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := api.check("cudaSetDevice", api.setDevice(cudaDevice)); err != nil {
		return err
	}
	return f()
}

// gpu is memory on the GPU.
type gpu struct {
	api *runtimeAPI
	ptr uintptr
}

func createCUDA(size int) ([]byte, memory, error) {
	api, err := openRuntime()
	if err != nil {
		return nil, nil, err
	}
	g := &gpu{api: api}
	handle := new([handleSize]byte)
	err = api.on(func() error {
		if err := api.check("cudaMalloc", api.malloc(&g.ptr, uintptr(size))); err != nil {
			return err
		}
		err := api.check("cudaMemset", api.memset(g.ptr, 0, uintptr(size)))
		if err == nil {
			err = api.check("cudaIpcGetMemHandle", api.ipcMemHandle(handle, g.ptr))
		}
		if err != nil {
			return errors.Join(err, g.free())
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return handle[:], g, nil
}

func (g *gpu) bytes() []byte { return nil }

func (g *gpu) write(off int, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	return g.api.on(func() error {
		code := g.api.upload(g.ptr+uintptr(off), unsafe.Pointer(unsafe.SliceData(data)), uintptr(len(data)), toDevice)
		return g.api.check("cudaMemcpy", code)
	})
}

func (g *gpu) read(off int, dst []byte) error {
	if len(dst) == 0 {
		return nil
	}
	return g.api.on(func() error {
		code := g.api.download(unsafe.Pointer(unsafe.SliceData(dst)), g.ptr+uintptr(off), uintptr(len(dst)), toHost)
		return g.api.check("cudaMemcpy", code)
	})
}

func (g *gpu) close() error { return g.api.on(g.free) }

func (g *gpu) free() error { return g.api.check("cudaFree", g.api.free(g.ptr)) }
