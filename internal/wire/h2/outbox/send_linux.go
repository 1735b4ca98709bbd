//go:build !race

package outbox

import (
	"syscall"
	"unsafe"
)

// brief is the size up to which a write, which never waits, need not tell the scheduler. That costs as much as the
// framing of a request; but a garbage collection must not wait for a long copy.
const brief = 64 << 10

func send(fd uintptr, vec []syscall.Iovec, size int) (int, syscall.Errno) {
	call := syscall.RawSyscall
	if size > brief {
		call = syscall.Syscall
	}
	n, _, err := call(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(unsafe.SliceData(vec))), uintptr(len(vec)))
	return int(n), err
}
