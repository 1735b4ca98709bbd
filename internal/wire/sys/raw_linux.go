//go:build !race

package sys

import (
	"syscall"
	"unsafe"
)

// Read reads what there is.
func Read(fd int, b []byte) (int, syscall.Errno) {
	if len(b) > brief {
		n, _, errno := syscall.Syscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		return int(n), errno
	}
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), errno
}

func write(fd int, b []byte) (int, syscall.Errno) {
	if len(b) > brief {
		n, _, errno := syscall.Syscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		return int(n), errno
	}
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), errno
}

// Writev writes pieces that have size bytes together.
func Writev(fd int, vec []syscall.Iovec, size int) (int, syscall.Errno) {
	if size > brief {
		n, _, errno := syscall.Syscall(syscall.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(vec))), uintptr(len(vec)))
		return int(n), errno
	}
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(vec))), uintptr(len(vec)))
	return int(n), errno
}

// seen is for the race detector.
func seen(int) {}
