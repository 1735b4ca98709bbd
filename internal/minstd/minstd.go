// Package minstd draws the random numbers of C++: the generator default_random_engine with
// uniform_int_distribution. With the same seed it chooses the same data streams and sequences as a program in C++.
package minstd

const modulus = 1<<31 - 1

// Source is a generator. Use New.
type Source uint64

// New makes a generator. Seed 0 is C++'s default seed.
func New(seed uint64) Source { return Source(seed%(modulus-1) + 1) }

// Below returns a number in [0, n).
func (s *Source) Below(n int) int {
	scale := (modulus - 2) / uint64(n)
	for {
		*s = *s * 16807 % modulus
		if v := uint64(*s) - 1; v < scale*uint64(n) {
			return int(v / scale)
		}
	}
}
