//go:build !unix

package testkit

import "syscall"

// shareAddress has nothing to set.
func shareAddress(_, _ string, _ syscall.RawConn) error { return nil }
