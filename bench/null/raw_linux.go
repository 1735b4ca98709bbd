package null

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// tryAgain is what the calls below return when the kernel has nothing to do for them now.
const tryAgain = -1 << 30

// The calls below never block, so the scheduler need not know of them.

func readNow(fd int, b []byte) int {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return outcome(n, errno)
}

func writeNow(fd int, b []byte) int {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return outcome(n, errno)
}

func pollNow(epoll int, events []unix.EpollEvent) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
	return outcome(n, errno)
}

func outcome(n uintptr, errno unix.Errno) int {
	if errno == 0 {
		return int(n)
	}
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return tryAgain
	}
	return -1
}
