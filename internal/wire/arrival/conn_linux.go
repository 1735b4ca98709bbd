package arrival

import (
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Conn is a connection that can tell when what was read last had come. TLS may lie above it: what one of its records
// holds had come when the read was over that completed it.
type Conn struct {
	net.Conn
	raw   syscall.RawConn
	scale Scale
	line  Line
	try   func(fd uintptr) bool // made once, as it would be allocated for each read

	pieces *pieces // nil: reads have one note each
	many   func(fd uintptr) bool

	// The read at hand, and what is known of the last one.
	buf      []byte
	n        int
	errno    syscall.Errno
	at, late int64
}

// Wrap makes a connection that notes when its bytes come. It returns nil where that cannot be had.
func Wrap(nc net.Conn) *Conn {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	if e := raw.Control(func(fd uintptr) { ok = Enable(int(fd)) }); e != nil || !ok {
		return nil
	}
	c := &Conn{Conn: nc, raw: raw}
	c.try = c.recv
	return c
}

// Pieces lets each read return one piece of what has come, with a time of its own. The system is still called once for
// many of them. It is for connections that carry many streams.
func (c *Conn) Pieces() {
	c.pieces = newPieces()
	c.many = c.recvPieces
}

// More tells whether the next read has its bytes already.
func (c *Conn) More() bool { return c.pieces != nil && c.pieces.next < c.pieces.n }

// Expect says that the next n bytes belong together: one time will do for them.
func (c *Conn) Expect(n int) {
	if c.pieces != nil {
		c.pieces.first = n
	}
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if c.pieces == nil {
		return c.ReadLarge(b)
	}
	if !c.More() {
		if err := c.ended(c.raw.Read(c.many)); err != nil {
			return 0, err
		}
		if c.pieces == nil {
			return c.ReadLarge(b)
		}
	}
	p := c.pieces
	n, at := p.take(b)
	c.at, c.late = at, p.now-at
	return n, nil
}

// ReadLarge reads what fits into b with one note, where no piece is left.
func (c *Conn) ReadLarge(b []byte) (int, error) {
	if c.More() {
		return c.Read(b)
	}
	c.buf = b
	err := c.ended(c.raw.Read(c.try))
	c.buf = nil
	if err != nil {
		return 0, err
	}
	return c.n, nil
}

// ended is the error of a read, if any.
func (c *Conn) ended(err error) error {
	switch {
	case err != nil:
		return err
	case c.errno != 0:
		return &net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError("recvmsg", c.errno)}
	case c.n == 0:
		return io.EOF
	}
	return nil
}

// recvPieces reads once and returns false to wait.
func (c *Conn) recvPieces(fd uintptr) bool {
	p := c.pieces
	for {
		errno := p.recv(int(fd))
		switch errno {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return false
		case unix.ENOSYS: // a sandbox that does not know the call
			c.pieces, c.n, c.errno = nil, 1, 0
			return true
		}
		c.n, c.errno = p.received, errno
		p.now = c.scale.Look()
		c.line.Times(&c.scale, int(fd), p.times[:p.n], p.now)
		return true
	}
}

// recv reads once and returns false to wait.
func (c *Conn) recv(fd uintptr) bool {
	for {
		n, note, errno := Recv(int(fd), c.buf)
		if errno == unix.EINTR {
			continue
		}
		if errno == unix.EAGAIN {
			return false
		}
		c.n, c.errno = n, errno
		now := c.scale.Look()
		c.at = c.line.Time(&c.scale, int(fd), note, now)
		c.late = now - c.at
		return true
	}
}

// Last is when the last byte of the last read came, and how long it lay unread.
func (c *Conn) Last() (at, late int64) { return c.at, c.late }
