package minstd

// Rand is the generator of rand() in the GNU C library. Use NewRand.
type Rand struct {
	state [feedback]uint32
	at    int
}

// The generator adds the numbers of 31 and 3 draws ago, and discards its first 310.
const (
	feedback = 31
	tap      = 3
	unused   = 310
)

// RandMax is the largest number that Next returns.
const RandMax = 1<<31 - 1

// NewRand makes a generator. Seed 0 is that of a program that never calls srand.
func NewRand(seed uint64) *Rand {
	r := &Rand{at: tap}
	v := seed%RandMax + 1
	for i := range r.state {
		r.state[i] = uint32(v)
		v = v * 16807 % RandMax
	}
	for range unused {
		r.Next()
	}
	return r
}

// Next returns a number in [0, RandMax].
func (r *Rand) Next() int {
	r.state[r.at] += r.state[(r.at+feedback-tap)%feedback]
	v := r.state[r.at] >> 1
	r.at = (r.at + 1) % feedback
	return int(v)
}
