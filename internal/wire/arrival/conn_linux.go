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

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.buf = b
	err := c.raw.Read(c.try)
	c.buf = nil
	switch {
	case err != nil:
		return 0, err
	case c.errno != 0:
		return 0, &net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: os.NewSyscallError("recvmsg", c.errno)}
	case c.n == 0:
		return 0, io.EOF
	}
	return c.n, nil
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
