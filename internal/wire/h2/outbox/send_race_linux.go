//go:build race

package outbox

import (
	"errors"
	"syscall"
	"unsafe"
)

// The race detector takes a read to happen after the write that it reads, but only where both go through the
// standard library. So here the pieces are written one by one.
func send(fd uintptr, vec []syscall.Iovec, _ int) (sent int, _ syscall.Errno) {
	for _, v := range vec {
		n, err := syscall.Write(int(fd), unsafe.Slice(v.Base, int(v.Len)))
		if n > 0 {
			sent += n
		}
		if n < int(v.Len) {
			e, _ := errors.AsType[syscall.Errno](err)
			if sent > 0 {
				e = 0 // it will be said again
			}
			return sent, e
		}
	}
	return sent, 0
}
