package stress

import "math"

// twister draws the numbers of numpy's RandomState: the 32-bit Mersenne Twister, and numpy's floats, normals and bounded integers.
// A seed therefore gives the same sequences as in sequence_stress.py, and a failure of one program can be repeated with the other.
type twister struct {
	state [twisterSize]uint32
	at    int
	// spare is the second of the pair of normals that the polar method makes.
	spare    float64
	hasSpare bool
}

// The parameters of MT19937.
const (
	twisterSize  = 624
	twisterShift = 397
	twisterXor   = 0x9908b0df
	twisterHigh  = 0x80000000
)

func newTwister(seed uint32) *twister {
	t := &twister{at: twisterSize}
	for i := range t.state {
		t.state[i] = seed
		seed = 1812433253*(seed^seed>>30) + uint32(i) + 1
	}
	return t
}

// uint32 is the next word.
func (t *twister) uint32() uint32 {
	if t.at == twisterSize {
		t.refill()
	}
	y := t.state[t.at]
	t.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (t *twister) refill() {
	for i := range t.state {
		y := t.state[i]&twisterHigh | t.state[(i+1)%twisterSize]&^twisterHigh
		next := t.state[(i+twisterShift)%twisterSize] ^ y>>1
		if y&1 != 0 {
			next ^= twisterXor
		}
		t.state[i] = next
	}
	t.at = 0
}

// float is uniform in [0, 1), of 53 bits.
func (t *twister) float() float64 {
	a, b := t.uint32()>>5, t.uint32()>>6
	return (float64(a)*67108864 + float64(b)) / 9007199254740992
}

// normal is normally distributed. The conversions keep a compiler from fusing operations, which would round
// differently on some processors.
func (t *twister) normal(mean, deviation float64) float64 {
	return mean + float64(deviation*t.gauss())
}

func (t *twister) gauss() float64 {
	if t.hasSpare {
		t.hasSpare = false
		return t.spare
	}
	for {
		x := float64(2*t.float()) - 1
		y := float64(2*t.float()) - 1
		r := float64(x*x) + float64(y*y)
		if r >= 1 || r == 0 {
			continue
		}
		f := math.Sqrt(-2 * math.Log(r) / r)
		t.spare, t.hasSpare = f*x, true
		return f * y
	}
}

// below is uniform in [0, n).
func (t *twister) below(n uint32) uint32 {
	most := n - 1
	if most == 0 {
		return 0
	}
	mask := most
	for shift := 1; shift < 32; shift *= 2 {
		mask |= mask >> shift
	}
	for {
		if v := t.uint32() & mask; v <= most {
			return v
		}
	}
}
