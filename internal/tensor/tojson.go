package tensor

import (
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
		err = fmt.Errorf("%d bytes are not a whole number of %s elements", len(raw), t)
	default:
		for i := 0; i < len(raw); i += size {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendNumber(dst, t, raw[i:i+size])
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

// plain reports whether a checked value holds none of the number literals that are not JSON.
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

// AppendNumber appends one element that has a size: a number or a truth value.
func AppendNumber(dst []byte, t Datatype, raw []byte) []byte {
	switch n := Number(t, raw); t {
	case Bool:
		return strconv.AppendBool(dst, n.Whole != 0)
	case Uint64:
		return strconv.AppendUint(dst, uint64(n.Whole), 10)
	case FP16, BF16, FP32:
		return appendFloat(dst, n.Real, 32)
	case FP64:
		return appendFloat(dst, n.Real, 64)
	case Invalid, Bytes, JSON: // the caller has handled them
		return dst
	default:
		return strconv.AppendInt(dst, n.Whole, 10)
	}
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

// AppendQuoted appends text as a JSON string, in the shortest form: only characters that must be escaped
// are, and hexadecimal digits are upper case. A byte that is not UTF-8 becomes U+FFFD.
func AppendQuoted[S ~string | ~[]byte](dst []byte, text S) []byte {
	dst = append(dst, '"')
	start := 0 // start of the stretch that is copied as it is
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			var few [utf8.UTFMax]byte
			n := copy(few[:], text[i:])
			if r, size := utf8.DecodeRune(few[:n]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, text[start:i]...)
		dst = appendEscaped(dst, c)
		i++
		start = i
	}
	dst = append(dst, text[start:]...)
	return append(dst, '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	const hexDigits = "0123456789ABCDEF"
	switch {
	case c == '"', c == '\\':
		return append(dst, '\\', c)
	case c == '\b':
		return append(dst, `\b`...)
	case c == '\f':
		return append(dst, `\f`...)
	case c == '\n':
		return append(dst, `\n`...)
	case c == '\r':
		return append(dst, `\r`...)
	case c == '\t':
		return append(dst, `\t`...)
	case c < ' ':
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	return utf8.AppendRune(dst, utf8.RuneError)
}
