package outbox

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxParts bounds the pieces of one writev, so that their list stays on the stack.
const maxParts = 8

// rawWriter gives access to the socket under a plain connection.
func rawWriter(nc net.Conn) syscall.RawConn {
	tc, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// tryWrite writes as much of the batch as the kernel takes without waiting. It always returns true: the
// runtime must not wait for us.
func (o *Box) tryWrite(fd uintptr) bool {
	o.tryErr = nil
	for len(o.batch) > 0 {
		var n int
		var err error
		if len(o.batch) == 1 {
			n, err = unix.Write(int(fd), o.batch[0])
		} else {
			n, err = unix.Writev(int(fd), o.batch[:min(maxParts, len(o.batch))])
		}
		switch err {
		case nil:
			o.advance(n)
		case unix.EINTR:
		case unix.EAGAIN:
			return true
		default:
			o.tryErr = err
			return true
		}
	}
	return true
}
