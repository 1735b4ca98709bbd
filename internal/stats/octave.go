package stats

import "math/bits"

// Octaves is how finely Octave cuts each doubling: buckets are 0.8 % to 1.6 % wide.
const Octaves = 64

// NumOctave is the number of buckets that Octave knows: values of an hour and more share the last ones.
const NumOctave = 37 * Octaves

// Octave is the bucket of a non-negative value: the position of its highest bit and the six bits after it. It costs
// no logarithm, so that every request can be put into one.
func Octave(v int64) int {
	if v < Octaves {
		return max(0, int(v))
	}
	e := bits.Len64(uint64(v)) - 7 // v>>e lies in [64, 128)
	return min(e*Octaves+int(v>>e), NumOctave-1)
}

// OctaveEnd is the largest value that Octave puts into bucket i.
func OctaveEnd(i int) int64 {
	if i < 2*Octaves {
		return int64(i)
	}
	e := i/Octaves - 1
	return int64(i%Octaves+Octaves+1)<<e - 1
}
