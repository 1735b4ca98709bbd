//go:build race

package sys

import (
	"errors"
	"syscall"
	"unsafe"
)

// Read reads what there is.
func Read(fd int, b []byte) (int, syscall.Errno) {
	n, err := syscall.Read(fd, b)
	return n, number(err)
}

func write(fd int, b []byte) (int, syscall.Errno) {
	n, err := syscall.Write(fd, b)
	return n, number(err)
}

// Writev writes the pieces one by one. After a short write the next call returns the error.
func Writev(fd int, vec []syscall.Iovec, _ int) (sent int, errno syscall.Errno) {
	for _, v := range vec {
		n, err := syscall.Write(fd, unsafe.Slice(v.Base, int(v.Len)))
		sent += max(n, 0)
		switch {
		case n >= int(v.Len):
		case sent > 0:
			return sent, 0
		default:
			return 0, number(err)
		}
	}
	return sent, 0
}

// seen tells the race detector that the writes of the bytes that were read happened before.
func seen(fd int) { _, _ = syscall.Read(fd, nil) }

func number(err error) syscall.Errno {
	e, _ := errors.AsType[syscall.Errno](err)
	return e
}
