package infer

import (
	"encoding/binary"
	"math"

	"github.com/redline-bench/redline/internal/tensor"
)

// Num is a number of any tensor type: Whole for whole ones, which keep all their bits, or else Real.
type Num struct {
	Whole int64
	Real  float64
}

// Add adds b so many times.
func (n Num) Add(b Num, times int64) Num {
	return Num{Whole: n.Whole + times*b.Whole, Real: n.Real + float64(times)*b.Real}
}

// Number reads the first element of raw data.
func Number(t tensor.Datatype, b []byte) Num {
	le := binary.LittleEndian
	switch t {
	case tensor.Bool, tensor.Uint8:
		return Num{Whole: int64(b[0])}
	case tensor.Int8:
		return Num{Whole: int64(int8(b[0]))}
	case tensor.Uint16:
		return Num{Whole: int64(le.Uint16(b))}
	case tensor.Int16:
		return Num{Whole: int64(int16(le.Uint16(b)))}
	case tensor.Uint32:
		return Num{Whole: int64(le.Uint32(b))}
	case tensor.Int32:
		return Num{Whole: int64(int32(le.Uint32(b)))}
	case tensor.Uint64, tensor.Int64:
		return Num{Whole: int64(le.Uint64(b))}
	case tensor.FP32:
		return Num{Real: float64(math.Float32frombits(le.Uint32(b)))}
	case tensor.FP64:
		return Num{Real: math.Float64frombits(le.Uint64(b))}
	case tensor.BF16:
		return Num{Real: float64(tensor.Float32FromBF16(le.Uint16(b)))}
	case tensor.FP16:
		return Num{Real: float64(tensor.Float32FromFP16(le.Uint16(b)))}
	case tensor.Invalid, tensor.Bytes, tensor.JSON:
	}
	return Num{}
}
