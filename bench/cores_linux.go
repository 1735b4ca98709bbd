package main

import "golang.org/x/sys/unix"

// bindTwoCores keeps the calling thread, and what it starts, on the first two cores.
func bindTwoCores() (restore func()) {
	var before, two unix.CPUSet
	if unix.SchedGetaffinity(0, &before) != nil || before.Count() <= 2 {
		return func() {}
	}
	two.Set(0)
	two.Set(1)
	_ = unix.SchedSetaffinity(0, &two) // where it may not, the server has more cores than the client
	return func() { _ = unix.SchedSetaffinity(0, &before) }
}
