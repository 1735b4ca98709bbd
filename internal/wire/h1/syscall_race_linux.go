//go:build race

package h1

import (
	"errors"
	"syscall"
)

// The race detector takes a read to happen after the write that it reads, but only where both go through the
// standard library.

func sysRead(fd int, b []byte) (int, syscall.Errno) {
	n, err := syscall.Read(fd, b)
	return n, errno(err)
}

func sysWrite(fd int, head, body []byte) (int, syscall.Errno) {
	n := 0
	if len(head) > 0 {
		var err error
		if n, err = syscall.Write(fd, head); err != nil || n < len(head) || len(body) == 0 {
			return n, errno(err)
		}
	}
	m, err := syscall.Write(fd, body)
	if err != nil && n > 0 {
		return n, 0 // it will be said again
	}
	return n + m, errno(err)
}

func errno(err error) syscall.Errno {
	e, _ := errors.AsType[syscall.Errno](err)
	return e
}
