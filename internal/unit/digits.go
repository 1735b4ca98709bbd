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
