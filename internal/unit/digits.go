package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Digits writes a number with n significant digits: without an exponent, and without zeros after the last digit. A large number
// keeps all digits before its point.
func Digits(v float64, n int) string {
	size := math.Abs(v)
	if size < 1e-6 || math.IsInf(v, 0) || math.IsNaN(v) {
		return strconv.FormatFloat(v, 'g', n, 64)
	}
	decimals := max(0, n-1-int(math.Floor(math.Log10(size))))
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Span writes a time in nanoseconds with three digits and the unit that people would take: "74.5 ms", "30.2 s".
func Span(ns float64) string {
	if ns == 0 {
		return "0"
	}
	const step = 1000
	v := ns
	for _, name := range []string{"ns", "µs", "ms"} {
		if math.Abs(v) < step-0.5 {
			return precise(v, 3) + " " + name
		}
		v /= step
	}
	return precise(v, 3) + " s"
}

// precise writes a number with n significant digits, zeros at its end too. A large number keeps all digits before its point, in groups.
func precise(v float64, n int) string {
	rounded := strconv.FormatFloat(v, 'e', n-1, 64)
	exponent, _ := strconv.Atoi(rounded[strings.IndexByte(rounded, 'e')+1:]) // a number that was just written
	return Thousands(strconv.FormatFloat(v, 'f', max(0, n-1-exponent), 64))
}

// Thousands separates the thousands of a written number.
func Thousands(number string) string {
	whole, frac, point := strings.Cut(number, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if point {
		whole += "." + frac
	}
	return sign + whole
}

// Count writes a number of things: "1 request", "2 requests".
func Count[N int | uint64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}

// Python writes a number as Python does: the shortest text that reads back as the same number, with a point or an exponent.
func Python(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+"))
	case size != 0 && (size < 1e-4 || size >= 1e16):
		return strconv.FormatFloat(v, 'e', -1, 64)
	case v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
