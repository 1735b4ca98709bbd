package export

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/redline-bench/redline/internal/tensor"
)

// appendTensors adds tensors as one object of name and data.
func appendTensors(b []byte, list []tensor.Tensor) []byte {
	b = append(b, '{')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = tensor.AppendQuoted(b, list[i].Name)
		b = append(b, ':')
		b = appendData(b, list[i].Type, list[i].Data)
	}
	return append(b, '}')
}

// appendData adds the data of a tensor: an array without shape, a single value if there is only one element,
// and "" if there is none, or not even a whole one.
func appendData(b []byte, t tensor.Datatype, raw []byte) []byte {
	size := t.Size()
	switch {
	case len(raw) == 0, len(raw) < size:
		return append(b, `""`...)
	case t == tensor.Bytes:
		// One string for the whole tensor: the length of the first element is cut off, those of the others are not.
		return tensor.AppendQuoted(b, raw[min(4, len(raw)):])
	case size == 0:
		return tensor.AppendQuoted(b, raw)
	case len(raw) < 2*size:
		return appendElements(b, t, raw)
	}
	b = append(b, '[')
	b = appendElements(b, t, raw)
	return append(b, ']')
}

// appendElements adds the elements with commas between them. Bytes that make no whole element are left out.
func appendElements(b []byte, t tensor.Datatype, raw []byte) []byte {
	le, size := binary.LittleEndian, t.Size()
	for i := 0; i+size <= len(raw); i += size {
		if i > 0 {
			b = append(b, ',')
		}
		e := raw[i : i+size]
		switch t {
		case tensor.FP16:
			b = appendFloat(b, float64(tensor.Float32FromFP16(le.Uint16(e))))
		case tensor.BF16:
			b = appendFloat(b, float64(tensor.Float32FromBF16(le.Uint16(e))))
		case tensor.FP32:
			b = appendFloat(b, float64(math.Float32frombits(le.Uint32(e))))
		case tensor.FP64:
			b = appendFloat(b, math.Float64frombits(le.Uint64(e)))
		default:
			b = tensor.AppendNumber(b, t, e)
		}
	}
	return b
}

// appendFloat adds the shortest form that reads back as the same 64-bit number, always with a fraction or an
// exponent. A float of fewer bits is written as the 64-bit number that it is.
func appendFloat(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, "null"...)
	}
	start := len(b)
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		b = strconv.AppendFloat(b, v, 'e', -1, 64)
		// Two digits at least and a plus sign are Go's manner: 1e+21 is 1e21 here.
		return trimExponent(b, start)
	}
	b = strconv.AppendFloat(b, v, 'f', -1, 64)
	if bytes.IndexByte(b[start:], '.') < 0 {
		b = append(b, '.', '0')
	}
	return b
}

func trimExponent(b []byte, start int) []byte {
	at := start + bytes.IndexByte(b[start:], 'e') + 1
	digits := at + 1
	for digits < len(b)-1 && b[digits] == '0' {
		digits++
	}
	keep := at
	if b[at] == '-' {
		keep++
	}
	return append(b[:keep], b[digits:]...)
}
