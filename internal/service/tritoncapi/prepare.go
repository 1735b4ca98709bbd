//go:build native && cgo && linux

package tritoncapi

/*
#include <stdlib.h>
#include <string.h>
#include "shim.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

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
	r := newRequest(in)
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	return r, nil
}

func newRequest(in service.Inputs) *request {
	r := &request{expect: in.Expect}
	var b block
	head := b.add(unsafe.Sizeof(C.rl_request{}))
	inputs := b.add(unsafe.Sizeof(C.rl_tensor{}) * uintptr(len(in.Tensors)))
	outputs := b.add(unsafe.Sizeof(uintptr(0)) * uintptr(len(in.Outputs)))
	type place struct{ name, shape, data uintptr }
	at := make([]place, len(in.Tensors))
	for i, t := range in.Tensors {
		at[i] = place{b.add(uintptr(len(t.Name)) + 1), b.add(8 * uintptr(len(t.Shape))), b.add(uintptr(len(t.Data)))}
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
		b.copy(at[i].data, t.Data)
		ts[i] = C.rl_tensor{
			name: (*C.char)(b.at(at[i].name)), shape: (*C.int64_t)(b.at(at[i].shape)), dims: C.uint64_t(len(t.Shape)),
			data: b.at(at[i].data), size: C.uint64_t(len(t.Data)), _type: C.int32_t(t.Type), // the numbers are Triton's own
		}
		r.bytes += uint64(len(t.Data))
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
	return r
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

// cstring is the text at p, not copied.
func cstring(p *C.char) string { return unsafe.String((*byte)(unsafe.Pointer(p)), int(C.strlen(p))) }

// contents is the data of a tensor, not copied.
func contents(t *C.rl_tensor) []byte { return unsafe.Slice((*byte)(t.data), int(t.size)) }
