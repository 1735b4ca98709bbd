package backend

import (
	"encoding/binary"
	"math"

	"github.com/redline-bench/redline/internal/tensor"
)

// putNumber writes a number as the first element of raw data.
func putNumber(t tensor.Datatype, b []byte, n tensor.Num) {
	le := binary.LittleEndian
	switch t {
	case tensor.Bool, tensor.Uint8, tensor.Int8:
		b[0] = byte(n.Whole)
	case tensor.Uint16, tensor.Int16:
		le.PutUint16(b, uint16(n.Whole))
	case tensor.Uint32, tensor.Int32:
		le.PutUint32(b, uint32(n.Whole))
	case tensor.Uint64, tensor.Int64:
		le.PutUint64(b, uint64(n.Whole))
	case tensor.FP32:
		le.PutUint32(b, math.Float32bits(float32(n.Real)))
	case tensor.FP64:
		le.PutUint64(b, math.Float64bits(n.Real))
	case tensor.BF16:
		le.PutUint16(b, uint16(math.Float32bits(float32(n.Real))>>16))
	case tensor.FP16:
		le.PutUint16(b, tensor.FP16FromFloat32(float32(n.Real)))
	case tensor.Invalid, tensor.Bytes, tensor.JSON:
	}
}
