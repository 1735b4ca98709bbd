package rjson

import (
	"bytes"
	"math"
	"strconv"
)

const hexDigits = "0123456789abcdef"

// AppendString adds s as a JSON string. Bytes that are no valid text pass as they are.
func AppendString[T string | []byte](b []byte, s T) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			if c < 0x20 {
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
				continue
			}
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// AppendComma begins the next item of an array or an object: with a comma, unless it is the first.
func AppendComma(b []byte) []byte {
	if last := b[len(b)-1]; last == '[' || last == '{' {
		return b
	}
	return append(b, ',')
}

// AppendName begins the next member of an object.
func AppendName[T string | []byte](b []byte, name T) []byte {
	return append(AppendString(AppendComma(b), name), ':')
}

// AppendList adds a list whose items one writes.
func AppendList[T any](b []byte, list []T, one func(b []byte, item T) []byte) []byte {
	b = append(b, '[')
	for _, item := range list {
		b = one(AppendComma(b), item)
	}
	return append(b, ']')
}

// AppendInt adds a whole number.
func AppendInt[T int | int64](b []byte, n T) []byte { return strconv.AppendInt(b, int64(n), 10) }

// AppendFloat adds f as Triton writes it: the shortest digits, always with a point or an exponent, and an exponent
// only from 1e21 on and below 1e-6. What JSON cannot say becomes null.
func AppendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	start := len(b)
	if a := math.Abs(f); a != 0 && (a >= 1e21 || a < 1e-6) {
		b = strconv.AppendFloat(b, f, 'e', -1, 64)
		return trimExponent(b, start)
	}
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if bytes.IndexByte(b[start:], '.') >= 0 {
		return b
	}
	return append(b, '.', '0')
}

// trimExponent turns e+30 into e30 and e-09 into e-9.
func trimExponent(b []byte, start int) []byte {
	for i := start; i < len(b); i++ {
		if b[i] != 'e' {
			continue
		}
		rest := b[i+1:]
		out := b[:i+1]
		if rest[0] == '-' {
			out = append(out, '-')
		}
		rest = rest[1:]
		for len(rest) > 1 && rest[0] == '0' {
			rest = rest[1:]
		}
		return append(out, rest...)
	}
	return b
}
