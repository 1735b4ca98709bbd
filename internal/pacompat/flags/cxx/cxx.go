// Package cxx reads numbers the way the C++ standard library does, because perf_analyzer does.
//
// A number is the longest prefix that reads as one: leading space and a sign are fine, and what follows is
// ignored, so "10abc" is 10 and "29.5" is the integer 29. No digits at all is ErrInvalid; a number that does not
// fit is ErrRange (where perf_analyzer aborts).
package cxx

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"
)

// What can be wrong with a number.
var (
	ErrInvalid = errors.New("not a number")
	ErrRange   = errors.New("number out of range")
)

// Stoi reads a 32-bit signed integer.
func Stoi(s string) (int, error) {
	n, err := Stoll(s)
	if err == nil && (n < math.MinInt32 || n > math.MaxInt32) {
		err = ErrRange
	}
	if err != nil {
		return 0, err
	}
	return int(n), nil
}

// Stoll reads a 64-bit signed integer.
func Stoll(s string) (int64, error) {
	neg, digits := integer(s)
	if digits == "" {
		return 0, ErrInvalid
	}
	if neg {
		digits = "-" + digits
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, ErrRange
	}
	return n, nil
}

// Stoull reads a 64-bit unsigned integer. A minus sign wraps around: "-1" is the largest value.
func Stoull(s string) (uint64, error) {
	neg, digits := integer(s)
	if digits == "" {
		return 0, ErrInvalid
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, ErrRange
	}
	if neg {
		n = -n
	}
	return n, nil
}

// Atoi reads a C int, and never fails: no number is 0, and what does not fit keeps its low 32 bits.
func Atoi(s string) int { return int(int32(Atol(s))) }

// Atol reads a C long, and never fails: no number is 0, and what does not fit is the nearest that does.
func Atol(s string) int64 {
	neg, digits := integer(s)
	n, err := Stoll(s)
	switch {
	case digits == "" || err == nil:
		return n
	case neg:
		return math.MinInt64
	}
	return math.MaxInt64
}

// Stod reads a double: decimal, hexadecimal, "inf" or "nan". A subnormal result is out of range, as glibc has it.
func Stod(s string) (float64, error) { return float(s, 64, 0x1p-1022) }

// Stof reads a float.
func Stof(s string) (float64, error) { return float(s, 32, 0x1p-126) }

func float(s string, bits int, smallest float64) (float64, error) {
	text := floatPrefix(strings.TrimLeft(s, space))
	if text == "" {
		return 0, ErrInvalid
	}
	f, err := strconv.ParseFloat(text, bits)
	if errors.Is(err, strconv.ErrRange) {
		return 0, ErrRange
	}
	if err != nil {
		return 0, ErrInvalid
	}
	subnormal := f != 0 && math.Abs(f) < smallest
	vanished := f == 0 && strings.ContainsAny(mantissa(text), "123456789abcdef")
	if subnormal || vanished {
		return 0, ErrRange
	}
	return f, nil
}

// AfterInt returns what follows the integer that s starts with.
func AfterInt(s string) string {
	s = strings.TrimLeft(s, space)
	_, digits := integer(s)
	return strings.TrimLeft(s, "+-")[len(digits):]
}

// AfterFloat returns what follows the floating-point number that s starts with.
func AfterFloat(s string) string {
	s = strings.TrimLeft(s, space)
	if rest := strings.TrimLeft(strings.ToLower(s), "+-"); rest == "inf" || rest == "infinity" || rest == "nan" {
		return ""
	}
	return s[min(len(s), len(floatPrefix(s))):]
}

const space = " \t\n\v\f\r"

// integer returns the sign and the digits that s starts with.
func integer(s string) (neg bool, digits string) {
	s = strings.TrimLeft(s, space)
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	return neg, s[:span(s, "0123456789")]
}

// floatPrefix returns the longest prefix of s that is a floating-point number, spelled for strconv.
func floatPrefix(s string) string {
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	lower := strings.ToLower(s)
	switch {
	case strings.HasPrefix(lower, "inf"):
		return sign + "inf"
	case strings.HasPrefix(lower, "nan"):
		return "nan"
	case strings.HasPrefix(lower, "0x"):
		if m := digits(lower[2:], "0123456789abcdef"); m != "" {
			return sign + "0x" + m + cmp.Or(exponent(lower[2+len(m):], 'p'), "p0")
		}
	}
	m := digits(lower, "0123456789")
	if m == "" {
		return ""
	}
	return sign + m + exponent(lower[len(m):], 'e')
}

// digits returns the mantissa that s starts with: digits with at most one point, and at least one digit.
func digits(s, set string) string {
	n := span(s, set)
	if n < len(s) && s[n] == '.' {
		frac := span(s[n+1:], set)
		if n+frac > 0 {
			n += 1 + frac
		}
	}
	return s[:n]
}

// exponent returns the exponent that s starts with, or nothing when it has no digits.
func exponent(s string, mark byte) string {
	if s == "" || s[0] != mark {
		return ""
	}
	n := 1
	if n < len(s) && (s[n] == '-' || s[n] == '+') {
		n++
	}
	d := span(s[n:], "0123456789")
	if d == 0 {
		return ""
	}
	return s[:n+d]
}

// mantissa returns what stands before the exponent.
func mantissa(text string) string {
	if hex, ok := strings.CutPrefix(strings.TrimLeft(text, "+-"), "0x"); ok {
		m, _, _ := strings.Cut(hex, "p")
		return m
	}
	m, _, _ := strings.Cut(text, "e")
	return m
}

// span returns how many bytes at the start of s are in set.
func span(s, set string) int {
	return len(s) - len(strings.TrimLeft(s, set))
}
