package testkit

import "runtime"

// Heap is the number of bytes on the heap that are still in use. It collects garbage twice, because a sync.Pool keeps its
// values through one collection.
func Heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
