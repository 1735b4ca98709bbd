package testkit

import "testing"

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
