// Package shm creates memory that a server on the same machine reads and writes directly, so that tensors are not sent over
// the connection.
//
// A system region is a POSIX shared memory object: a file in /dev/shm that both sides map. A CUDA region is GPU memory,
// passed by the 64 bytes of its IPC handle; it needs the build with the tag native, because libcudart is loaded at run time.
//
// A region has a name at the server (InputName, OutputName) and a key on this machine. Keys start with "/redline-" and the
// process id, so that concurrent runs never share an object. Each object is locked while its process runs. The kernel releases
// the lock when the process ends, so an object of ours without a lock was left by a crash; RemoveStale removes it.
package shm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Kind is the kind of memory of a region.
type Kind uint8

// The kinds.
const (
	System Kind = iota + 1
	CUDA
)

// String is the kind by its name on the command line.
func (k Kind) String() string {
	switch k {
	case System:
		return "system"
	case CUDA:
		return "cuda"
	default:
		return "Kind(" + strconv.Itoa(int(k)) + ")"
	}
}

// cudaDevice is the GPU of all regions.
const cudaDevice = 0

// ErrNative means that this build cannot use CUDA.
var ErrNative = errors.New("CUDA shared memory needs redline-native, the build with the tag native on Linux")

// ErrRange means that a Read or Write does not fit into the region.
var ErrRange = errors.New("outside the shared memory region")

// ErrClosed means that a region was used after Close.
var ErrClosed = errors.New("the shared memory region is closed")

// CUDAError is a call of the CUDA runtime that failed.
type CUDAError struct {
	Call string // the function
	Text string // the runtime's message
	Code int    // the cudaError_t
}

func (e *CUDAError) Error() string { return fmt.Sprintf("%s: %s (%d)", e.Call, e.Text, e.Code) }

// memory is the memory of a region. The caller has checked offsets and lengths.
type memory interface {
	bytes() []byte
	write(off int, data []byte) error
	read(off int, dst []byte) error
	close() error
}

// Region is one shared memory region. Several goroutines may call Write and Read on parts that do not overlap. Close may only
// be called when the region is no longer used.
type Region struct {
	kind   Kind
	name   string
	size   int
	key    string
	handle []byte
	mem    memory
}

// Create makes a region of size zero bytes. name is its name at the server, from which the key is derived. A CUDA region is on
// device 0.
func Create(kind Kind, name string, size int) (*Region, error) {
	r := &Region{kind: kind, name: name, size: size}
	if size <= 0 {
		return nil, fmt.Errorf("create shared memory region %s: %d bytes requested, at least 1 is needed", name, size)
	}
	var err error
	switch kind {
	case System:
		r.key, r.mem, err = createSystem(name, size)
	case CUDA:
		r.handle, r.mem, err = createCUDA(size)
	default:
		err = fmt.Errorf("unknown kind %v", kind)
	}
	if err != nil {
		return nil, fmt.Errorf("create %v shared memory region %s: %w", kind, name, err)
	}
	return r, nil
}

// Kind is the kind of the region.
func (r *Region) Kind() Kind { return r.kind }

// Name is the name that the region was created with.
func (r *Region) Name() string { return r.name }

// Size is the number of requested bytes.
func (r *Region) Size() int { return r.size }

// Key is the key by which a server opens a system region, with the leading slash; "" for CUDA.
func (r *Region) Key() string { return r.key }

// Handle is the handle by which a server opens a CUDA region: the 64 bytes of a cudaIpcMemHandle_t; nil for system.
func (r *Region) Handle() []byte { return r.handle }

// Device is the number of the GPU that holds a CUDA region.
func (r *Region) Device() int { return cudaDevice }

// Bytes is the memory itself, until Close; nil for CUDA.
func (r *Region) Bytes() []byte {
	if r.mem == nil {
		return nil
	}
	return r.mem.bytes()
}

// Write copies data into the region at off.
func (r *Region) Write(off int, data []byte) error {
	if err := r.check(off, len(data)); err != nil {
		return fmt.Errorf("write %s: %w", r.name, err)
	}
	return r.mem.write(off, data)
}

// Read copies from the region at off until dst is full.
func (r *Region) Read(off int, dst []byte) error {
	if err := r.check(off, len(dst)); err != nil {
		return fmt.Errorf("read %s: %w", r.name, err)
	}
	return r.mem.read(off, dst)
}

func (r *Region) check(off, n int) error {
	if r.mem == nil {
		return ErrClosed
	}
	if off < 0 || off > r.size || n > r.size-off {
		return fmt.Errorf("%w: bytes %d to %d of %d", ErrRange, off, off+n, r.size)
	}
	return nil
}

// Close frees the memory and removes the key. Unregister the region at the server first: otherwise the server keeps its own
// mapping of a system region. A second Close does nothing.
func (r *Region) Close() error {
	if r.mem == nil {
		return nil
	}
	err := r.mem.close()
	r.mem = nil
	if err != nil {
		return fmt.Errorf("close %v shared memory region %s: %w", r.kind, r.name, err)
	}
	return nil
}

// InputName is the name at the server of the region that holds one step of a stream's data for an input.
func InputName(input string, stream, step int) string {
	return clean(input) + "_" + strconv.Itoa(stream) + "_" + strconv.Itoa(step)
}

// OutputName is the name at the server of the region that an output is written to.
func OutputName(output string) string { return clean(output) }

// clean removes characters that are not allowed in a key or in the path of the register call.
func clean(tensor string) string {
	return strings.NewReplacer("/", "", `\`, "").Replace(tensor)
}
