package tensor

import "math"

// FP16FromFloat32 rounds f to the nearest half-precision number, ties to even, and returns its bits.
func FP16FromFloat32(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	exp := int(b>>23&0xff) - 127 + 15 // 15 and 127 are the biases of the two exponents
	frac := b & 0x7fffff
	switch {
	case b&0x7fffffff > 0x7f800000:
		return sign | 0x7e00 // NaN, made quiet
	case exp >= 31:
		return sign | 0x7c00
	case exp < -10:
		return sign
	case exp <= 0: // the result is subnormal: shift the fraction with its hidden one into place
		frac |= 0x800000
		return sign | uint16(roundShift(frac, uint(14-exp)))
	}
	// A carry out of the rounded fraction moves into the exponent, which is just right, infinity included.
	return sign | uint16(roundShift(uint32(exp)<<23|frac, 13))
}

// roundShift is v >> n, rounded to nearest with ties to even.
func roundShift(v uint32, n uint) uint32 {
	half := uint32(1) << (n - 1)
	kept := v >> n
	lost := v & (1<<n - 1)
	if lost > half || (lost == half && kept&1 == 1) {
		kept++
	}
	return kept
}

// Float32FromFP16 is the value of half-precision bits; it is always exact.
func Float32FromFP16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h >> 10 & 0x1f)
	frac := uint32(h & 0x3ff)
	switch exp {
	case 0: // zero and subnormals are frac units of 2^-24
		f := float32(frac) / (1 << 24)
		return math.Float32frombits(sign | math.Float32bits(f))
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

// BF16FromFloat32 rounds f to the nearest bfloat16, ties to even, and returns its bits.
func BF16FromFloat32(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40 // a NaN must not round to infinity
	}
	return uint16(roundShift(b, 16))
}

// Float32FromBF16 is the value of bfloat16 bits; it is always exact.
func Float32FromBF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
