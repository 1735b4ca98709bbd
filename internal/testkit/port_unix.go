//go:build unix

package testkit

import "syscall"

// shareAddress lets other sockets bind the address of this one.
func shareAddress(_, _ string, raw syscall.RawConn) error {
	var err error
	if e := raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) }); e != nil {
		return e
	}
	return err
}
