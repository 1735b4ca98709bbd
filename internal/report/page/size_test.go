//go:build !race

// With the race detector, a sync.Pool drops some of what is put into it, by chance.

package page_test

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/redline-bench/redline/internal/testkit/longrun"
)

// The page of a run has a bounded size and is made in bounded memory, whatever the number of requests.
func TestSizeDoesNotGrowWithTheRun(t *testing.T) {
	// What fills an empty pool would count: each processor has its own, and a collection empties them.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	f := func(levels int, requests uint64) (size, allocated uint64) {
		t.Helper()
		res := longrun.Result(levels, requests)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text := write(t, res)
		runtime.ReadMemStats(&after)
		size, allocated = uint64(len(text)), after.TotalAlloc-before.TotalAlloc
		t.Logf("%d levels of %d requests: a page of %d bytes, made with %d bytes of memory", levels, requests, size, allocated)
		return size, allocated
	}
	f(1, 1000) // the first page prepares the encoder
	small, least := f(1, 1_000_000)
	large, most := f(1, 10_000_000_000)
	one, _ := f(1, 10_000_000)
	if one > 600_000 {
		t.Errorf("the page of ten million requests has %d bytes", one)
	}
	if large > small*5/4 || most > least*5/4 {
		t.Errorf("a million requests make a page of %d bytes with %d bytes of memory, ten billion one of %d with %d", small, least, large, most)
	}
	if size, allocated := f(12, 10_000_000); size > one+11*360_000 || allocated > 20*size {
		t.Errorf("twelve levels of ten million requests make a page of %d bytes with %d bytes of memory", size, allocated)
	}
}
