//go:build native && cgo && linux

package tritoncapi

/*
#include <stdlib.h>
#include <string.h>
#include "shim.h"
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/kserve"
	"github.com/redline-bench/redline/internal/tensor"
)

// request is a prepared request. What Triton reads lies in one block of C memory, since it reads it after the
// send has returned.
type request struct {
	c      *C.rl_request
	bytes  uint64 // of all inputs
	expect []tensor.Tensor
}

// Prepare copies the inputs to where Triton can read them.
func (s *Service) Prepare(in service.Inputs) (service.Request, error) {
	for _, t := range in.Tensors {
		if t.Type == tensor.Invalid || t.Type > tensor.BF16 {
			return nil, fmt.Errorf("input %s: Triton has no datatype %s", t.Name, t.Type)
		}
	}
	r, err := newRequest(in, s.gpu)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.checks = s.checks || in.Expect != nil
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	return r, nil
}

func newRequest(in service.Inputs, on *gpu) (*request, error) {
	r := &request{expect: in.Expect}
	var b block
	head := b.add(unsafe.Sizeof(C.rl_request{}))
	inputs := b.add(unsafe.Sizeof(C.rl_tensor{}) * uintptr(len(in.Tensors)))
	outputs := b.add(unsafe.Sizeof(uintptr(0)) * uintptr(len(in.Outputs)))
	type place struct{ name, shape, data uintptr }
	at := make([]place, len(in.Tensors))
	for i, t := range in.Tensors {
		at[i] = place{name: b.add(uintptr(len(t.Name)) + 1), shape: b.add(8 * uintptr(len(t.Shape)))}
		if on == nil {
			at[i].data = b.add(uintptr(len(t.Data)))
		}
	}
	names := make([]uintptr, len(in.Outputs))
	for i, n := range in.Outputs {
		names[i] = b.add(uintptr(len(n)) + 1)
	}
	b.make()

	ts := unsafe.Slice((*C.rl_tensor)(b.at(inputs)), len(in.Tensors))
	for i, t := range in.Tensors {
		b.copy(at[i].name, []byte(t.Name))
		copy(unsafe.Slice((*int64)(b.at(at[i].shape)), len(t.Shape)), t.Shape)
		ts[i] = C.rl_tensor{
			name: (*C.char)(b.at(at[i].name)), shape: (*C.int64_t)(b.at(at[i].shape)), dims: C.uint64_t(len(t.Shape)),
			size: C.uint64_t(len(t.Data)), _type: C.int32_t(t.Type), // the numbers are Triton's own
		}
		r.bytes += uint64(len(t.Data))
		if on == nil {
			b.copy(at[i].data, t.Data)
			ts[i].data = b.at(at[i].data)
			continue
		}
		var err error
		if ts[i].data, err = on.put(t.Data); err != nil {
			C.free(b.base)
			return nil, err
		}
		ts[i].memory = C.RL_GPU
	}
	os := unsafe.Slice((**C.char)(b.at(outputs)), len(in.Outputs))
	for i, n := range in.Outputs {
		b.copy(names[i], []byte(n))
		os[i] = (*C.char)(b.at(names[i]))
	}
	r.c = (*C.rl_request)(b.at(head))
	*r.c = C.rl_request{
		inputs: unsafe.SliceData(ts), n_inputs: C.uint32_t(len(ts)),
		outputs: unsafe.SliceData(os), n_outputs: C.uint32_t(len(os)),
	}
	return r, nil
}

func (r *request) free() {
	C.free(unsafe.Pointer(r.c)) // the head is the start of the block
	r.c = nil
}

// block lays out parts in one piece of C memory: first all of them are added, then it is made.
type block struct {
	size uintptr
	base unsafe.Pointer
}

// align is what any of the parts may want; tensors want it most.
const align = 64

func (b *block) add(size uintptr) (offset uintptr) {
	offset = b.size
	b.size += (size + align - 1) / align * align
	return offset
}

func (b *block) make() {
	b.base = C.aligned_alloc(align, C.size_t(b.size))
	C.memset(b.base, 0, C.size_t(b.size))
}

func (b *block) at(offset uintptr) unsafe.Pointer { return unsafe.Add(b.base, offset) }

func (b *block) copy(offset uintptr, data []byte) {
	copy(unsafe.Slice((*byte)(b.at(offset)), len(data)), data)
}

// match compares outputs with what was expected of them; nil means that they are equal.
func match(want []tensor.Tensor, got []C.rl_tensor) *service.Error {
	for i := range want {
		j := slices.IndexFunc(got, func(t C.rl_tensor) bool { return cstring(t.name) == want[i].Name })
		var data []byte
		if j >= 0 {
			data = contents(&got[j])
		}
		if err := kserve.Match(&want[i], data); err != nil {
			return err
		}
	}
	return nil
}

// regions is the room that shared memory has for the outputs whose size the model leaves open: the same for each.
type regions struct {
	on    bool
	size  uint64
	names []string
}

func (r *regions) of(m *service.Model) {
	for _, spec := range m.Outputs {
		if spec.Shape.Dynamic() || spec.Type == tensor.Bytes {
			r.names = append(r.names, spec.Name)
		}
	}
}

// check is an error where an output has no room.
func (r *regions) check(got []C.rl_tensor) *service.Error {
	for i := range got {
		name, size := cstring(got[i].name), uint64(got[i].size)
		if size <= r.size || !slices.Contains(r.names, name) {
			continue
		}
		f := &LibraryError{What: service.ResponseFailed, Code: "Internal", Text: fmt.Sprintf(
			"shared memory size specified with the request for output '%s' (%d bytes) should be at least %d bytes to hold the results", name, r.size, size)}
		return &service.Error{Op: kserve.OpInfer, Class: record.Server, Text: f.Text, Err: f}
	}
	return nil
}

// cstring is the text at p, not copied.
func cstring(p *C.char) string { return unsafe.String((*byte)(unsafe.Pointer(p)), int(C.strlen(p))) }

// contents is the data of a tensor, not copied.
func contents(t *C.rl_tensor) []byte { return unsafe.Slice((*byte)(t.data), int(t.size)) }

// The answers of Triton are tensors in memory, one by one. The sink wants bytes that can be kept, so they are
// written one after the other, little-endian:
//
//	name length u32, name, datatype u8, dimensions u32, each i64, data length u64, data

// appendOutputs writes outputs in that form.
func appendOutputs(b []byte, outputs []C.rl_tensor) []byte {
	le := binary.LittleEndian
	for i := range outputs {
		t := &outputs[i]
		name := cstring(t.name)
		b = le.AppendUint32(b, uint32(len(name)))
		b = append(b, name...)
		b = append(b, byte(t._type))
		b = le.AppendUint32(b, uint32(t.dims))
		for _, d := range unsafe.Slice(t.shape, int(t.dims)) {
			b = le.AppendUint64(b, uint64(d))
		}
		b = le.AppendUint64(b, uint64(t.size))
		b = append(b, contents(t)...)
	}
	return b
}

var errPayload = errors.New("the payload ends in the middle of an output")

// Outputs decodes what appendOutputs wrote. Data is not copied.
func (s *Service) Outputs(payload []byte) ([]tensor.Tensor, error) {
	var out []tensor.Tensor
	r := reader{rest: payload}
	for len(r.rest) > 0 {
		t := tensor.Tensor{Name: string(r.take(uint64(r.u32())))}
		t.Type = tensor.Datatype(r.u8())
		dims := r.u32()
		t.Shape = make(tensor.Shape, 0, min(dims, 16))
		for range dims {
			if r.short {
				break
			}
			t.Shape = append(t.Shape, int64(r.u64()))
		}
		t.Data = r.take(r.u64())
		if r.short {
			return nil, errPayload
		}
		out = append(out, t)
	}
	return out, nil
}

// reader takes numbers and bytes from the front; short is set once there was too little.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.rest)) {
		r.short, r.rest = true, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
