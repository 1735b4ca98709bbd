//go:build !linux

package clock

// UnixMinusMonotonic is what must be added to the kernel's monotonic clock to get Unix time; 0 if it is not known.
func UnixMinusMonotonic() int64 { return 0 }
