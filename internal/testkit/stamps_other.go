//go:build !linux

package testkit

import "testing"

// KernelStamps skips the test: only Linux notes the arrival of TCP segments.
func KernelStamps(tb testing.TB) {
	tb.Helper()
	tb.Skip("the kernel of this system does not note when segments arrive")
}
