package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSortValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	f := func(n int, value func(int) int64) {
		t.Helper()
		v := make([]int64, n)
		for i := range v {
			v[i] = value(i)
		}
		want := slices.Sorted(slices.Values(v))
		if sortValues(v); !slices.Equal(v, want) {
			t.Errorf("%d values are not sorted, or are others", n)
		}
	}
	for _, n := range []int{0, 1, radixFrom - 1, radixFrom, radixFrom + 1, 50_000} {
		f(n, func(int) int64 { return r.Int64N(1 << 10) })
		f(n, func(int) int64 { return r.Int64N(20e6) })
		f(n, func(int) int64 { return r.Int64() })
		f(n, func(i int) int64 { return int64(i) })
		f(n, func(i int) int64 { return int64(-i) })
		f(n, func(int) int64 { return 7 })
		f(n, func(i int) int64 { return []int64{0, math.MaxInt64}[i%2] })
	}
}
