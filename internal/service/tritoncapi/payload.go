//go:build native && cgo && linux

package tritoncapi

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/redline-bench/redline/internal/tensor"
)

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
