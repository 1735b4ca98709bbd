package stats

import (
	"iter"
	"math"
	"slices"
)

// MaxError is the largest relative error of a percentile that comes from Buckets.
const MaxError = 0.001

// A bucket holds the numbers that share their exponent and the first fractionBits of their fraction: 512 buckets in each
// doubling. The middle of a bucket differs from every number in it by less than 1/1024.
// Numbers outside of 2^-30 to 2^45 (in nanoseconds ten hours) are counted in the first and last bucket.
const (
	fractionBits = 9
	keyShift     = 52 - fractionBits
	exponentBias = 1023
	lowestKey    = (exponentBias - 30) << fractionBits
	highestKey   = (exponentBias+45)<<fractionBits - 1
)

// Buckets counts numbers in bounded memory. It has room for the range of the numbers that came. C is wide enough for the number
// in one bucket. The zero value is ready.
type Buckets[C uint32 | uint64] struct {
	first  int // key of counts[0]
	counts []C
	zeros  uint64 // numbers of at most 0
	n      uint64
}

// Count is the number of numbers.
func (b *Buckets[C]) Count() uint64 { return b.n }

// Add counts a number n times.
func (b *Buckets[C]) Add(v float64, n uint64) {
	b.n += n
	if v <= 0 {
		b.zeros += n
		return
	}
	key := max(lowestKey, min(int(math.Float64bits(v)>>keyShift), highestKey))
	if uint(key-b.first) >= uint(len(b.counts)) {
		b.cover(key, key)
	}
	b.counts[key-b.first] += C(n)
}

// MergeBuckets adds all of from to to; from stays as it is.
func MergeBuckets[C, D uint32 | uint64](to *Buckets[C], from *Buckets[D]) {
	to.n += from.n
	to.zeros += from.zeros
	if len(from.counts) == 0 {
		return
	}
	to.cover(from.first, from.first+len(from.counts)-1)
	for i, n := range from.counts {
		to.counts[from.first+i-to.first] += C(n)
	}
}

// cover makes room for a range of keys. It grows by whole doublings, so that it rarely has to.
func (b *Buckets[C]) cover(from, to int) {
	const step = 1 << fractionBits
	if len(b.counts) > 0 {
		from, to = min(from, b.first), max(to, b.first+len(b.counts)-1)
	}
	from, to = from&^(step-1), to|(step-1)
	if to-from+1 == len(b.counts) {
		return
	}
	counts := make([]C, to-from+1)
	copy(counts[max(0, b.first-from):], b.counts)
	b.first, b.counts = from, counts
}

// edges are the ends of bucket i of counts.
func (b *Buckets[C]) edges(i int) (low, high float64) {
	key := uint64(b.first + i)
	return math.Float64frombits(key << keyShift), math.Float64frombits((key + 1) << keyShift)
}

// Zeros is the number of numbers of at most 0.
func (b *Buckets[C]) Zeros() uint64 { return b.zeros }

// All yields the middle and the count of each bucket that is not empty, ascending. Numbers of at most 0 are in none.
func (b *Buckets[C]) All() iter.Seq2[float64, uint64] {
	return func(yield func(middle float64, n uint64) bool) {
		for i, n := range b.counts {
			if n == 0 {
				continue
			}
			low, high := b.edges(i)
			if !yield((low+high)/2, uint64(n)) {
				return
			}
		}
	}
}

// Quantiles are percentiles of the numbers, of which the largest is known. See Interpolate.
func (b *Buckets[C]) Quantiles(largest float64, ps ...float64) []float64 {
	return quantiles(int(b.n), b.ranks(0, largest, middle), ps)
}

// middle and evenly choose the value of a number in a bucket with n numbers, of which it is the one at place.
func middle(low, high float64, _, _ uint64) float64 { return (low + high) / 2 }

func evenly(low, high float64, place, n uint64) float64 {
	return low + (high-low)*(float64(place)+0.5)/float64(n)
}

// ranks gives the number of rank k from 0, between the smallest and the largest. choose gives it within its bucket.
func (b *Buckets[C]) ranks(smallest, largest float64, choose func(low, high float64, place, n uint64) float64) func(k int) float64 {
	up := make([]uint64, len(b.counts)) // numbers up to and with each bucket
	total := b.zeros
	for i, n := range b.counts {
		total += uint64(n)
		up[i] = total
	}
	return func(k int) float64 {
		rank := uint64(k)
		if rank < b.zeros {
			return min(0, smallest)
		}
		i, _ := slices.BinarySearch(up, rank+1)
		if i == len(up) {
			return largest
		}
		low, high := b.edges(i)
		return max(smallest, min(choose(low, high, rank+uint64(b.counts[i])-up[i], uint64(b.counts[i])), largest))
	}
}

// Octaves are the counts by the wider buckets of Octave, for numbers that are whole.
func (b *Buckets[C]) Octaves() []uint64 {
	out := make([]uint64, NumOctave)
	out[0] = b.zeros
	for i, n := range b.counts {
		if n > 0 {
			low, _ := b.edges(i)
			out[Octave(int64(low))] += uint64(n)
		}
	}
	return out
}
