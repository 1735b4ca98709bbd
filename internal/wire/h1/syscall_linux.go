//go:build !race

package h1

import (
	"syscall"
	"unsafe"
)

// The calls below never wait, so a short one need not tell the scheduler, which costs as much as the parsing of a
// reply. One that may copy much does: a garbage collection must not wait for it.
const brief = 64 << 10

func sysRead(fd int, b []byte) (int, syscall.Errno) {
	call := syscall.RawSyscall
	if len(b) > brief {
		call = syscall.Syscall
	}
	n, _, err := call(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), err
}

func sysWrite(fd int, head, body []byte) (int, syscall.Errno) {
	if len(body) > 0 {
		return sysWritev(fd, head, body)
	}
	call := syscall.RawSyscall
	if len(head) > brief {
		call = syscall.Syscall
	}
	n, _, err := call(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(head))), uintptr(len(head)))
	return int(n), err
}

func sysWritev(fd int, head, body []byte) (int, syscall.Errno) {
	iov := [2]syscall.Iovec{{Base: unsafe.SliceData(head)}, {Base: unsafe.SliceData(body)}}
	iov[0].SetLen(len(head))
	iov[1].SetLen(len(body))
	n, _, err := syscall.Syscall(syscall.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(&iov)), uintptr(len(iov)))
	return int(n), err
}
