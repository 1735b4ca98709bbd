package backend

import (
	"encoding/binary"
	"math"

	"github.com/redline-bench/redline/internal/tensor"
)

// num is a number of any tensor type: whole ones keep all their bits.
type num struct {
	whole int64
	real  float64
	float bool
}

func (a num) add(b num) num {
	return num{whole: a.whole + b.whole, real: a.real + b.real, float: a.float}
}

func (a num) sub(b num) num {
	return num{whole: a.whole - b.whole, real: a.real - b.real, float: a.float}
}

// number reads the first element of raw data.
func number(t tensor.Datatype, b []byte) num {
	le := binary.LittleEndian
	switch t {
	case tensor.Bool, tensor.Uint8:
		return num{whole: int64(b[0])}
	case tensor.Int8:
		return num{whole: int64(int8(b[0]))}
	case tensor.Uint16:
		return num{whole: int64(le.Uint16(b))}
	case tensor.Int16:
		return num{whole: int64(int16(le.Uint16(b)))}
	case tensor.Uint32:
		return num{whole: int64(le.Uint32(b))}
	case tensor.Int32:
		return num{whole: int64(int32(le.Uint32(b)))}
	case tensor.Uint64, tensor.Int64:
		return num{whole: int64(le.Uint64(b))}
	case tensor.FP32:
		return num{real: float64(math.Float32frombits(le.Uint32(b))), float: true}
	case tensor.FP64:
		return num{real: math.Float64frombits(le.Uint64(b)), float: true}
	case tensor.BF16:
		return num{real: float64(tensor.Float32FromBF16(le.Uint16(b))), float: true}
	case tensor.FP16:
		return num{real: float64(tensor.Float32FromFP16(le.Uint16(b))), float: true}
	case tensor.Invalid, tensor.Bytes, tensor.JSON:
	}
	return num{}
}

// putNumber writes a number as the first element of raw data.
func putNumber(t tensor.Datatype, b []byte, n num) {
	le := binary.LittleEndian
	switch t {
	case tensor.Bool, tensor.Uint8, tensor.Int8:
		b[0] = byte(n.whole)
	case tensor.Uint16, tensor.Int16:
		le.PutUint16(b, uint16(n.whole))
	case tensor.Uint32, tensor.Int32:
		le.PutUint32(b, uint32(n.whole))
	case tensor.Uint64, tensor.Int64:
		le.PutUint64(b, uint64(n.whole))
	case tensor.FP32:
		le.PutUint32(b, math.Float32bits(float32(n.real)))
	case tensor.FP64:
		le.PutUint64(b, math.Float64bits(n.real))
	case tensor.BF16:
		le.PutUint16(b, uint16(math.Float32bits(float32(n.real))>>16))
	case tensor.FP16:
		le.PutUint16(b, tensor.FP16FromFloat32(float32(n.real)))
	case tensor.Invalid, tensor.Bytes, tensor.JSON:
	}
}
