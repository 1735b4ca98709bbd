package testkit

import (
	"runtime"
	"testing"
)

// Allocs is the smallest number of allocations that run was seen to make, as testing.AllocsPerRun counts them. That
// count is the whole process's: what the runtime or the end of an earlier test allocates beside run can only add to it.
func Allocs(run func()) float64 {
	const tries = 10
	n := testing.AllocsPerRun(5, run)
	for i := 1; i < tries && n >= 1; i++ {
		n = min(n, testing.AllocsPerRun(5, run))
	}
	return n
}

// FewAllocs fails the test where run, which makes n requests, allocates more than once in a hundred of them. A server in
// this process and the runtime share the heap, so that a few allocations always happen.
func FewAllocs(tb testing.TB, n int, run func()) {
	tb.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	if allocs := after.Mallocs - before.Mallocs; allocs > uint64(n)/100 {
		tb.Errorf("%d allocations in %d requests", allocs, n)
	}
}
