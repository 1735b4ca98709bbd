//go:build !linux

package target

const everyLoopback = false

// portRange is not known on this platform.
func portRange() (low, high int, ok bool) { return 0, 0, false }
