package tensor

import (
	"encoding/binary"
	"math"
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
func Number(t Datatype, b []byte) Num {
	le := binary.LittleEndian
	switch t {
	case Bool, Uint8:
		return Num{Whole: int64(b[0])}
	case Int8:
		return Num{Whole: int64(int8(b[0]))}
	case Uint16:
		return Num{Whole: int64(le.Uint16(b))}
	case Int16:
		return Num{Whole: int64(int16(le.Uint16(b)))}
	case Uint32:
		return Num{Whole: int64(le.Uint32(b))}
	case Int32:
		return Num{Whole: int64(int32(le.Uint32(b)))}
	case Uint64, Int64:
		return Num{Whole: int64(le.Uint64(b))}
	case FP32:
		return Num{Real: float64(math.Float32frombits(le.Uint32(b)))}
	case FP64:
		return Num{Real: math.Float64frombits(le.Uint64(b))}
	case BF16:
		return Num{Real: float64(Float32FromBF16(le.Uint16(b)))}
	case FP16:
		return Num{Real: float64(Float32FromFP16(le.Uint16(b)))}
	case Invalid, Bytes, JSON:
	}
	return Num{}
}
