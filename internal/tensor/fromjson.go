package tensor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// maxDepth bounds the nesting of arrays in AppendNested.
const maxDepth = 64

// ValueError means that an element of a JSON array does not fit its datatype.
type ValueError struct {
	Type  Datatype
	Index int // of the element, in row-major order
}

func (e *ValueError) Error() string {
	switch e.Type {
	case FP16, BF16:
		return e.Type.String() + ` values cannot be written as JSON numbers: use "b64"`
	case JSON:
		return "an input of JSON takes one value"
	default:
		return fmt.Sprintf("element %d does not fit the datatype %s", e.Index, e.Type)
	}
}

// ErrNotArray means that the JSON of a tensor is not an array.
var ErrNotArray = errors.New("tensor data must be a JSON array")

// AppendRaw appends the raw form of a flat JSON array of t's elements. Text that is not JSON gives a
// *jsonscan.SyntaxError, an element that does not fit a *ValueError.
//
// A whole number is valid for FP32 and FP64. Integers are checked against 32 bits and then truncated to the width of t.
// NaN and Inf are accepted as literals. FP16 and BF16 have no JSON form.
func AppendRaw(dst []byte, t Datatype, text []byte) ([]byte, error) {
	v, err := jsonscan.Parse(text)
	if err != nil {
		return dst, err
	}
	return AppendValues(dst, t, v)
}

// AppendValues is AppendRaw for text that has been checked.
func AppendValues(dst []byte, t Datatype, array jsonscan.Value) ([]byte, error) {
	if array.Kind() != jsonscan.Array {
		return dst, ErrNotArray
	}
	out, i := dst, 0
	for v := range array.Elements() {
		var ok bool
		if out, ok = appendValue(out, t, v); !ok {
			return dst, &ValueError{Type: t, Index: i}
		}
		i++
	}
	if t == JSON && i != 1 {
		return dst, &ValueError{Type: t, Index: i}
	}
	return out, nil
}

// AppendNested is AppendRaw for arrays that may hold arrays, as the KServe protocol allows: the elements count
// in row-major order.
func AppendNested(dst []byte, t Datatype, text []byte) ([]byte, error) {
	v, err := jsonscan.Parse(text)
	if err != nil {
		return dst, err
	}
	if v.Kind() != jsonscan.Array {
		return dst, ErrNotArray
	}
	index := 0
	out, err := appendNested(dst, t, v, &index, 1)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func appendNested(dst []byte, t Datatype, array jsonscan.Value, index *int, depth int) ([]byte, error) {
	if depth > maxDepth {
		return dst, fmt.Errorf("tensor data is nested deeper than %d arrays", maxDepth)
	}
	for v := range array.Elements() {
		if v.Kind() == jsonscan.Array && t != JSON {
			var err error
			if dst, err = appendNested(dst, t, v, index, depth+1); err != nil {
				return dst, err
			}
			continue
		}
		var ok bool
		if dst, ok = appendValue(dst, t, v); !ok {
			return dst, &ValueError{Type: t, Index: *index}
		}
		*index++
	}
	return dst, nil
}

func appendValue(dst []byte, t Datatype, v jsonscan.Value) ([]byte, bool) {
	switch t {
	case Bool:
		if v.Kind() != jsonscan.Bool {
			return dst, false
		}
		if v.True() {
			return append(dst, 1), true
		}
		return append(dst, 0), true
	case Uint8, Uint16, Uint32, Uint64:
		u, ok := v.Uint64()
		return appendWhole(dst, t, u), ok && (t == Uint64 || u <= math.MaxUint32)
	case Int8, Int16, Int32, Int64:
		i, ok := v.Int64()
		return appendWhole(dst, t, uint64(i)), ok && (t == Int64 || (i >= math.MinInt32 && i <= math.MaxInt32))
	case FP32:
		f, ok := v.Float64()
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(f))), ok
	case FP64:
		f, ok := v.Float64()
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f)), ok
	case Bytes:
		if v.Kind() != jsonscan.String {
			return dst, false
		}
		at := len(dst)
		dst = v.AppendText(append(dst, 0, 0, 0, 0))
		binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-prefix))
		return dst, true
	case JSON:
		return v.Append(dst), true
	case Invalid, FP16, BF16:
	}
	return dst, false
}

// appendWhole appends the low bytes of u, as many as t has.
func appendWhole(dst []byte, t Datatype, u uint64) []byte {
	for range t.Size() {
		dst = append(dst, byte(u))
		u >>= 8
	}
	return dst
}
