package tensor

import (
	"math"
	"strconv"
	"strings"
)

// Shape is the dimensions of a tensor; -1 is a variable one.
type Shape []int64

// Elements is the product of the dimensions, or -1 when one is variable. A scalar has one element. A product
// beyond int64 is cut to its largest value.
func (s Shape) Elements() int64 {
	n := int64(1)
	for _, d := range s {
		if d < 0 {
			return -1
		}
		n = mul(n, d)
	}
	return n
}

// mul multiplies two numbers that are not negative, and stops at the largest one.
func mul(a, b int64) int64 {
	if b != 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// Dynamic reports whether a dimension is variable.
func (s Shape) Dynamic() bool { return s.Elements() < 0 }

// Accepts reports whether a concrete shape fits s: same rank, and equal wherever s is fixed.
func (s Shape) Accepts(o Shape) bool {
	if len(s) != len(o) {
		return false
	}
	for i, d := range s {
		if d >= 0 && d != o[i] {
			return false
		}
	}
	return true
}

// String writes the shape as [1,2,3].
func (s Shape) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, d := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(d, 10))
	}
	b.WriteByte(']')
	return b.String()
}

// Tensor is named data. Data is raw little-endian elements; Bytes elements each have a 4-byte length before them.
type Tensor struct {
	Name  string
	Type  Datatype
	Shape Shape
	Data  []byte
}
