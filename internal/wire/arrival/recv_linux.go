package arrival

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/redline-bench/redline/internal/wire/sys"
)

// Enable has the kernel note when segments come in on a socket. It returns false where it cannot.
func Enable(fd int) bool {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) == nil
}

// note is the control message with a time.
type note struct {
	head unix.Cmsghdr
	at   unix.Timespec
}

// stamp is the time in a control message; 0 where it brought none.
func (n *note) stamp(m *unix.Msghdr) int64 {
	if int(m.Controllen) == int(unsafe.Sizeof(*n)) && n.head.Level == unix.SOL_SOCKET && n.head.Type == unix.SO_TIMESTAMPNS {
		return n.at.Nano()
	}
	return 0
}

// Recv reads from a socket that does not wait, and gives the kernel's note with it: the wall-clock time at which the last
// byte came in, in nanoseconds; 0 is none.
func Recv(fd int, b []byte) (n int, stamp int64, errno syscall.Errno) {
	var ctl note
	iov := unix.Iovec{Base: unsafe.SliceData(b)}
	iov.SetLen(len(b))
	msg := unix.Msghdr{Iov: &iov, Control: (*byte)(unsafe.Pointer(&ctl))}
	msg.SetIovlen(1)
	msg.SetControllen(int(unsafe.Sizeof(ctl)))
	if n, errno = sys.Recvmsg(fd, &msg, len(b)); errno != 0 {
		return 0, 0, errno
	}
	return n, ctl.stamp(&msg), 0
}

// outOfOrder is how many segments of a connection came before one that was sent earlier.
func outOfOrder(fd int) uint32 {
	var info unix.TCPInfo
	if !sys.TCPInfo(fd, &info) {
		return 0
	}
	return info.Rcv_ooopack
}
