package outbox

import (
	"net"
	"syscall"
	"unsafe"

	"github.com/redline-bench/redline/internal/wire/sys"
)

// vector lists the pieces of one write. A message of a megabyte is some seventy frames, each of two pieces.
type vector [128]syscall.Iovec

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
	for o.left() {
		n, err := o.writev(fd)
		switch err {
		case 0:
			o.advance(n)
		case syscall.EINTR:
		case syscall.EAGAIN:
			return true
		default:
			o.tryErr = err
			return true
		}
	}
	return true
}

func (o *Box) writev(fd uintptr) (int, syscall.Errno) {
	parts := o.batch[o.at:min(len(o.batch), o.at+len(o.vec))]
	size := 0
	for i, p := range parts {
		size += len(p)
		o.vec[i].Base = unsafe.SliceData(p)
		o.vec[i].SetLen(len(p))
	}
	n, err := sys.Writev(int(fd), o.vec[:len(parts)], size)
	clear(o.vec[:len(parts)]) // the pieces are free again
	return n, err
}
