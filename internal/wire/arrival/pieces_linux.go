package arrival

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/redline-bench/redline/internal/wire/sys"
)

// The pieces of one system call: the first is as long as what is expected, within bounds, each other as long as a short
// event, so that every event has nearly a time of its own.
const (
	pieceSize  = 256
	pieceCount = 64
	longest    = 16 << 10
)

// pieces are bytes that were read in one system call, with a note for every piece of them. A connection that carries many
// streams brings the events of all of them, and a client that was held up finds many at once: one note for all would be
// that of the last.
type pieces struct {
	buf   [longest + (pieceCount-1)*pieceSize]byte
	iov   [pieceCount]unix.Iovec
	notes [pieceCount]note
	msgs  [pieceCount]sys.Mmsghdr
	times [pieceCount]int64 // of the pieces at hand
	now   int64             // when they were read

	first    int // how long the next first piece shall be
	next, n  int // pieces that were not handed on
	off      int // bytes of the next one that were
	received int
}

func newPieces() *pieces {
	p := &pieces{}
	for i, at := 0, 0; i < pieceCount; i++ {
		p.iov[i].Base = &p.buf[at]
		p.iov[i].SetLen(pieceSize)
		m := &p.msgs[i].Head
		m.Iov, m.Control = &p.iov[i], (*byte)(unsafe.Pointer(&p.notes[i]))
		m.SetIovlen(1)
		m.SetControllen(int(unsafe.Sizeof(note{})))
		at += pieceSize
		if i == 0 {
			at = longest
		}
	}
	return p
}

// recv reads from a socket that does not wait.
func (p *pieces) recv(fd int) syscall.Errno {
	p.iov[0].SetLen(min(max(p.first, pieceSize), longest))
	p.next, p.n, p.off, p.received = 0, 0, 0, 0
	n, errno := sys.Recvmmsg(fd, p.msgs[:])
	if errno != 0 {
		return errno
	}
	for i := range n { // the end of the connection is any number of empty pieces
		m := &p.msgs[i]
		if m.Size == 0 {
			break
		}
		p.times[i] = p.notes[i].stamp(&m.Head)
		m.Head.SetControllen(int(unsafe.Sizeof(note{}))) // for the next time
		p.n++
		p.received += int(m.Size)
	}
	return 0
}

// take hands on what is left of the next piece, as far as it fits. Any piece may be short: more may come while the system
// is at work on the next one.
func (p *pieces) take(b []byte) (n int, at int64) {
	size := int(p.msgs[p.next].Size)
	n = copy(b, unsafe.Slice(p.iov[p.next].Base, size)[p.off:])
	at = p.times[p.next]
	if p.off += n; p.off == size {
		p.next++
		p.off = 0
	}
	return n, at
}
