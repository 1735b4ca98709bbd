package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// brief is the most bytes that a raw call copies.
const brief = 64 << 10

// Write writes head and body, which may be empty, as one piece.
func Write(fd int, head, body []byte) (int, syscall.Errno) {
	if len(body) == 0 {
		return write(fd, head)
	}
	vec := [2]syscall.Iovec{{Base: unsafe.SliceData(head)}, {Base: unsafe.SliceData(body)}}
	vec[0].SetLen(len(head))
	vec[1].SetLen(len(body))
	return Writev(fd, vec[:], len(head)+len(body))
}

// Recvmsg reads into the one buffer of m, which has size bytes.
func Recvmsg(fd int, m *unix.Msghdr, size int) (n int, errno syscall.Errno) {
	var r uintptr
	if size > brief {
		r, _, errno = syscall.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(m)), 0)
	} else {
		r, _, errno = syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(m)), 0)
	}
	if errno != 0 {
		return 0, errno
	}
	seen(fd)
	return int(r), 0
}

// Mmsghdr is one message of Recvmmsg: its header and the bytes that it received.
type Mmsghdr struct {
	Head unix.Msghdr
	Size uint32
}

// Recvmmsg reads several messages and returns their number. All buffers together have at most brief bytes.
func Recvmmsg(fd int, list []Mmsghdr) (n int, errno syscall.Errno) {
	r, _, errno := syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(list))), uintptr(len(list)), 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	seen(fd)
	return int(r), 0
}

// EpollReady takes the events that are there, without waiting, and returns their number; 0 after an error.
func EpollReady(ep int, events []unix.EpollEvent) int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// TCPInfo reads the kernel's counters of a connection. It returns false where there are none.
func TCPInfo(fd int, info *unix.TCPInfo) bool {
	size := uint32(unsafe.Sizeof(*info))
	_, _, errno := syscall.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(&size)), 0)
	return errno == 0
}
