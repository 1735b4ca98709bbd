package text

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
)

// page collects a block of lines, so that it is written at once.
type page struct{ buf bytes.Buffer }

// linef adds one line.
func (p *page) linef(format string, args ...any) {
	fmt.Fprintf(&p.buf, format, args...)
	p.buf.WriteByte('\n')
}

// to writes the block to w. Write errors are ignored: the console may have gone.
func (p *page) to(w io.Writer) {
	if p.buf.Len() > 0 {
		_, _ = w.Write(p.buf.Bytes())
	}
}

// number is the default form of a C++ stream: six significant digits, no trailing zeros.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// rate is the form of a throughput, which perf_analyzer keeps in 32 bits.
func rate(v float64) string { return number(single(v)) }

// single is v as a 32-bit float knows it.
func single(v float64) float64 { return float64(float32(v)) }

// us converts nanoseconds to whole microseconds. A negative duration has no meaning and counts as 0.
func us[T int64 | uint64 | float64](ns T) uint64 {
	if ns < 0 {
		return 0
	}
	return uint64(ns) / 1000
}

// less is a - b, or 0 if that would be negative.
func less(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}
