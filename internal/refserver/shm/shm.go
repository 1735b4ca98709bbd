// Package shm maps the memory that clients share with the server. Data is copied in and out, so a client that truncates or rewrites
// its memory meanwhile can damage only its own response.
package shm

import (
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// Kind is the kind of memory of a region, as paths and texts name it.
type Kind string

// The kinds.
const (
	System Kind = "system"
	CUDA   Kind = "cuda"
)

// Region is a registered piece of shared memory.
type Region struct {
	Kind   Kind
	Name   string
	Key    string // of system memory
	Offset uint64
	Device int64 // of memory on a GPU
	Size   uint64
	memory memory
}

// memory is what a region shows, from its offset on.
type memory interface {
	read(offset uint64, to []byte) error
	write(offset uint64, from []byte) error
	close()
}

// Registry holds the regions by name.
type Registry struct {
	mu      sync.RWMutex
	regions map[string]*Region
}

// New makes an empty registry.
func New() *Registry { return &Registry{regions: map[string]*Region{}} }

// Register maps system memory.
func (r *Registry) Register(name, key string, offset, size uint64) error {
	return r.add(Region{Kind: System, Name: name, Key: key, Offset: offset, Size: size}, func() (memory, error) { return mapKey(name, key, offset, size) })
}

// RegisterCUDA opens memory on a GPU by its handle.
func (r *Registry) RegisterCUDA(name string, handle []byte, device int64, size uint64) error {
	return r.add(Region{Kind: CUDA, Name: name, Device: device, Size: size}, func() (memory, error) { return openHandle(name, handle, device) })
}

func (r *Registry) add(reg Region, open func() (memory, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.regions[reg.Name] != nil {
		return infer.Errorf(infer.AlreadyExists, "shared memory region '%s' already in manager", reg.Name)
	}
	m, err := open()
	if err != nil {
		return err
	}
	reg.memory = m
	r.regions[reg.Name] = &reg
	return nil
}

// Unregister drops a region, or all regions of a kind where the name is empty; an unknown region is not an error.
func (r *Registry) Unregister(kind Kind, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, reg := range r.regions {
		if reg.Kind == kind && (name == "" || name == key) {
			delete(r.regions, key)
			reg.memory.close()
		}
	}
}

// Status lists one region of a kind, or all by name.
func (r *Registry) Status(kind Kind, name string) ([]Region, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if name != "" {
		reg := r.regions[name]
		if reg == nil || reg.Kind != kind {
			return nil, infer.Errorf(infer.NotFound, "Unable to find %s shared memory region: '%s'", kind, name)
		}
		return []Region{*reg}, nil
	}
	var out []Region
	for _, key := range slices.Sorted(maps.Keys(r.regions)) {
		if r.regions[key].Kind == kind {
			out = append(out, *r.regions[key])
		}
	}
	return out, nil
}

// Check reports whether a place is there.
func (r *Registry) Check(at infer.Place) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, err := r.find(at)
	return err
}

// Read copies what is at a place.
func (r *Registry) Read(at infer.Place) ([]byte, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	reg, err := r.find(at)
	if err != nil {
		return nil, err
	}
	out := make([]byte, at.Size)
	return out, reg.memory.read(at.Offset, out)
}

// Write copies data to the begin of a place.
func (r *Registry) Write(at infer.Place, data []byte) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	reg, err := r.find(at)
	if err != nil {
		return err
	}
	return reg.memory.write(at.Offset, data)
}

// find gives the region that has such a place.
func (r *Registry) find(at infer.Place) (*Region, error) {
	reg := r.regions[at.Name]
	switch {
	case reg == nil:
		return nil, infer.Errorf(infer.NotFound, "Unable to find shared memory region: '%s'", at.Name)
	case at.Offset > reg.Size || at.Size > reg.Size-at.Offset:
		return nil, infer.Errorf(infer.InvalidArg, "%d bytes from %d are not within the %d bytes of shared memory region '%s'", at.Size, at.Offset, reg.Size, at.Name)
	}
	return reg, nil
}

// mapped is system memory.
type mapped struct {
	name  string
	data  []byte // what the region shows
	whole []byte // what was mapped
}

func (m *mapped) read(offset uint64, to []byte) error { return move(to, m.data[offset:], m.name) }

func (m *mapped) write(offset uint64, from []byte) error { return move(m.data[offset:], from, m.name) }
func (m *mapped) close()                                 { unmap(m.whole) }

// move copies, and returns an error if the owner has truncated the memory.
func move(to, from []byte, name string) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if recover() != nil {
			err = infer.Errorf(infer.Internal, "shared memory region '%s' was truncated by its owner", name)
		}
	}()
	copy(to, from)
	return nil
}
