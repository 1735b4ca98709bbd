package khttp

import (
	"encoding/binary"
	"math"

	"github.com/redline-bench/redline/internal/refserver/rjson"
	"github.com/redline-bench/redline/internal/tensor"
)

// elements collects the numbers of a tensor in raw form.
type elements struct {
	kind tensor.Datatype
	left int64
	out  []byte
}

func (e *elements) add(v *rjson.Value) error {
	if v.Kind == rjson.Array {
		for i := range v.Items {
			if err := e.add(&v.Items[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if e.left == 0 {
		return wrong("data", "Shape does not match true shape of 'data' field")
	}
	e.left--
	return e.number(v)
}

func (e *elements) number(v *rjson.Value) error {
	le := binary.LittleEndian
	switch e.kind {
	case tensor.Bool:
		if v.Kind != rjson.Bool {
			return wrong("data", notBool)
		}
		var b byte
		if v.True {
			b = 1
		}
		e.out = append(e.out, b)
		return nil
	case tensor.FP32, tensor.FP64:
		f, ok := v.Float()
		if !ok {
			return wrong("data", notNumber)
		}
		if e.kind == tensor.FP32 {
			e.out = le.AppendUint32(e.out, math.Float32bits(float32(f)))
		} else {
			e.out = le.AppendUint64(e.out, math.Float64bits(f))
		}
		return nil
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		n, ok := v.Uint()
		if !ok {
			return wrong("data", notUnsigned)
		}
		e.integer(n)
		return nil
	default:
		n, ok := v.Int()
		if !ok {
			return wrong("data", notSigned)
		}
		e.integer(uint64(n))
		return nil
	}
}

// integer adds the low bytes of n.
func (e *elements) integer(n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	e.out = append(e.out, b[:e.kind.Size()]...)
}

// appendData writes raw data as a JSON array.
func appendData(b []byte, t tensor.Tensor) []byte {
	b = append(b, '[')
	if t.Type == tensor.Bytes {
		for rest := t.Data; len(rest) >= 4; {
			n := min(int(binary.LittleEndian.Uint32(rest)), len(rest)-4)
			b = rjson.AppendString(rjson.AppendComma(b), rest[4:4+n])
			rest = rest[4+n:]
		}
		return append(b, ']')
	}
	size := t.Type.Size()
	for i := 0; size > 0 && i+size <= len(t.Data); i += size {
		b = appendNumber(rjson.AppendComma(b), t.Type, t.Data[i:i+size])
	}
	return append(b, ']')
}

// appendNumber writes one element. Triton writes floating-point numbers of both sizes with the digits of the larger one.
func appendNumber(b []byte, kind tensor.Datatype, raw []byte) []byte {
	switch kind {
	case tensor.FP32:
		return rjson.AppendFloat(b, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
	case tensor.FP64:
		return rjson.AppendFloat(b, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
	case tensor.FP16, tensor.BF16:
		return append(b, "null"...)
	default:
		return tensor.AppendNumber(b, kind, raw)
	}
}
