// Package shm maps the memory that clients share with the server, so that tensors need not travel. Data is copied in and
// out: a client that truncates or rewrites its memory meanwhile can spoil its own answer, but not the server.
package shm

import (
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/redline-bench/redline/internal/refserver/infer"
)

// Region is a registered piece of system shared memory.
type Region struct {
	Name   string
	Key    string
	Offset uint64
	Size   uint64
	data   []byte // what the region shows, from Offset on
	whole  []byte // what was mapped
}

// Registry holds the regions by name.
type Registry struct {
	mu      sync.RWMutex
	regions map[string]*Region
}

// New makes an empty registry.
func New() *Registry { return &Registry{regions: map[string]*Region{}} }

// Register maps a region.
func (r *Registry) Register(name, key string, offset, size uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.regions[name] != nil {
		return infer.Errorf(infer.AlreadyExists, "shared memory region '%s' already in manager", name)
	}
	whole, data, err := mapKey(name, key, offset, size)
	if err != nil {
		return err
	}
	r.regions[name] = &Region{Name: name, Key: key, Offset: offset, Size: size, whole: whole, data: data}
	return nil
}

// Unregister drops a region; one that is not there is no error.
func (r *Registry) Unregister(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reg := r.regions[name]; reg != nil {
		delete(r.regions, name)
		unmap(reg.whole)
	}
}

// UnregisterAll drops all regions.
func (r *Registry) UnregisterAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, reg := range r.regions {
		unmap(reg.whole)
	}
	clear(r.regions)
}

// Status lists one region, or all by name.
func (r *Registry) Status(name string) ([]Region, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if name != "" {
		reg := r.regions[name]
		if reg == nil {
			return nil, infer.Errorf(infer.NotFound, "Unable to find system shared memory region: '%s'", name)
		}
		return []Region{*reg}, nil
	}
	var out []Region
	for _, key := range slices.Sorted(maps.Keys(r.regions)) {
		out = append(out, *r.regions[key])
	}
	return out, nil
}

// Check tells whether a part of a region is there.
func (r *Registry) Check(name string, offset, size uint64) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, err := r.part(name, offset, size)
	return err
}

// Read copies a part of a region.
func (r *Registry) Read(name string, offset, size uint64) ([]byte, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	part, err := r.part(name, offset, size)
	if err != nil {
		return nil, err
	}
	out := make([]byte, size)
	return out, move(out, part, name)
}

// Write copies data into a region.
func (r *Registry) Write(name string, offset uint64, data []byte) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	part, err := r.part(name, offset, uint64(len(data)))
	if err != nil {
		return err
	}
	return move(part, data, name)
}

func (r *Registry) part(name string, offset, size uint64) ([]byte, error) {
	reg := r.regions[name]
	if reg == nil {
		return nil, infer.Errorf(infer.NotFound, "Unable to find shared memory region: '%s'", name)
	}
	if offset > reg.Size {
		return nil, infer.Errorf(infer.InvalidArg, "Invalid offset for shared memory region: '%s'", name)
	}
	if size > reg.Size-offset {
		return nil, infer.Errorf(infer.InvalidArg, "Invalid offset + byte size for shared memory region: '%s'", name)
	}
	return reg.data[offset : offset+size], nil
}

// move copies, and turns the fault of touching memory that its owner has truncated into an error.
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
