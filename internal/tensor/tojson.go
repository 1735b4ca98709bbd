package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/redline-bench/redline/internal/tensor/jsonscan"
)

// AppendJSON appends the raw data of a tensor as a flat JSON array. The result is always valid JSON: NaN and
// Inf become null, and bytes of a string that are not UTF-8 become U+FFFD. Floating-point numbers have a
// fraction or an exponent, so that they read back as such.
func AppendJSON(dst []byte, t Datatype, raw []byte) ([]byte, error) {
	keep := len(dst)
	dst = append(dst, '[')
	var err error
	switch size := t.Size(); {
	case t == Bytes:
		dst, err = appendStrings(dst, raw)
	case t == JSON:
		dst = appendDocument(dst, raw)
	case size == 0:
		err = fmt.Errorf("no JSON form for type %s", t)
	case len(raw)%size != 0:
		err = fmt.Errorf("%d bytes are no whole number of %s elements", len(raw), t)
	default:
		for i := 0; i < len(raw); i += size {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendNumber(dst, t, raw[i:i+size])
		}
	}
	if err != nil {
		return dst[:keep], err
	}
	return append(dst, ']'), nil
}

func appendStrings(dst, raw []byte) ([]byte, error) {
	for first := true; len(raw) > 0; first = false {
		elem, rest, err := NextElement(raw)
		if err != nil {
			return dst, err
		}
		if !first {
			dst = append(dst, ',')
		}
		dst = AppendQuoted(dst, elem)
		raw = rest
	}
	return dst, nil
}

// appendDocument appends a request body as it is, or as a string when it is not plain JSON.
func appendDocument(dst, raw []byte) []byte {
	if v, err := jsonscan.Parse(raw); err == nil && utf8.Valid(v) && plain(v) {
		return v.Append(dst)
	}
	return AppendQuoted(dst, raw)
}

// plain tells whether a checked value holds none of the number literals that are not JSON.
func plain(v jsonscan.Value) bool {
	switch v.Kind() {
	case jsonscan.Array:
		for e := range v.Elements() {
			if !plain(e) {
				return false
			}
		}
	case jsonscan.Object:
		for _, m := range v.Members() {
			if !plain(m) {
				return false
			}
		}
	case jsonscan.Number:
		last := v[len(v)-1]
		return last >= '0' && last <= '9'
	case jsonscan.None, jsonscan.Null, jsonscan.Bool, jsonscan.String:
	}
	return true
}

func appendNumber(dst []byte, t Datatype, raw []byte) []byte {
	le := binary.LittleEndian
	switch t {
	case Bool:
		return strconv.AppendBool(dst, raw[0] != 0)
	case Uint8:
		return strconv.AppendUint(dst, uint64(raw[0]), 10)
	case Uint16:
		return strconv.AppendUint(dst, uint64(le.Uint16(raw)), 10)
	case Uint32:
		return strconv.AppendUint(dst, uint64(le.Uint32(raw)), 10)
	case Uint64:
		return strconv.AppendUint(dst, le.Uint64(raw), 10)
	case Int8:
		return strconv.AppendInt(dst, int64(int8(raw[0])), 10)
	case Int16:
		return strconv.AppendInt(dst, int64(int16(le.Uint16(raw))), 10)
	case Int32:
		return strconv.AppendInt(dst, int64(int32(le.Uint32(raw))), 10)
	case Int64:
		return strconv.AppendInt(dst, int64(le.Uint64(raw)), 10)
	case FP16:
		return appendFloat(dst, float64(Float32FromFP16(le.Uint16(raw))), 32)
	case BF16:
		return appendFloat(dst, float64(Float32FromBF16(le.Uint16(raw))), 32)
	case FP32:
		return appendFloat(dst, float64(math.Float32frombits(le.Uint32(raw))), 32)
	case FP64:
		return appendFloat(dst, math.Float64frombits(le.Uint64(raw)), 64)
	case Invalid, Bytes, JSON: // the caller has dealt with them
	}
	return dst
}

// appendFloat writes the shortest digits that read back as the same number of that many bits.
func appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	for _, b := range dst[start:] {
		if b == '.' || b == 'e' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

const hexDigits = "0123456789abcdef"

// AppendQuoted appends text as a JSON string.
func AppendQuoted[S ~string | ~[]byte](dst []byte, text S) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		b := text[i]
		if b >= utf8.RuneSelf {
			r, n := decodeRune(text, i)
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		switch {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
		case b >= ' ' && b != 0x7f:
			dst = append(dst, b)
		case b == '\n':
			dst = append(dst, '\\', 'n')
		case b == '\r':
			dst = append(dst, '\\', 'r')
		case b == '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
		}
		i++
	}
	return append(dst, '"')
}

// decodeRune reads the character at i; a byte that is not UTF-8 gives U+FFFD and length 1.
func decodeRune[S ~string | ~[]byte](text S, i int) (rune, int) {
	var buf [utf8.UTFMax]byte
	n := copy(buf[:], text[i:])
	return utf8.DecodeRune(buf[:n])
}
