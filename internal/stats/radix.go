package stats

import (
	"math/bits"
	"slices"
)

const (
	radixBits = 11 // the counts of a digit fit into the first-level cache
	radixFrom = 2048
)

// sortValues sorts values. Whole ones that are not negative are sorted digit by digit from the lowest, which for the many of a
// window takes a tenth of the time that comparing them does.
func sortValues[T int64 | float64](values []T) {
	v, whole := any(values).([]int64)
	if !whole || len(v) < radixFrom || slices.Min(v) < 0 {
		slices.Sort(values)
		return
	}
	from, to := v, make([]int64, len(v))
	width := bits.Len64(uint64(slices.Max(v)))
	for shift := 0; shift < width; shift += radixBits {
		var at [1 << radixBits]int
		for _, x := range from {
			at[x>>shift&(1<<radixBits-1)]++
		}
		sum := 0
		for i, n := range at {
			at[i] = sum
			sum += n
		}
		for _, x := range from {
			d := x >> shift & (1<<radixBits - 1)
			to[at[d]] = x
			at[d]++
		}
		from, to = to, from
	}
	if &from[0] != &v[0] {
		copy(v, from)
	}
}
