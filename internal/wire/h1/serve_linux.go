package h1

import (
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// openRaw takes raw access to the socket, for reads and writes without the detours of net.Conn.
func (c *Conn) openRaw(nc net.Conn) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	c.raw, c.onRead, c.onWrite = raw, c.readable, c.writable
}

// serveRaw reads inside one raw read of the poller: readable returns false to wait and true to end.
func (c *Conn) serveRaw() error {
	err := c.raw.Read(c.onRead)
	switch {
	case c.err != nil:
		return c.err
	case c.cause != nil:
		return c.finish(c.cause)
	case c.stop:
		return nil
	}
	return c.finish(err)
}

// readable is called with the socket when there may be something to read.
//
// It must read until the kernel says "would block" before it waits, since a close that arrives together with
// data makes no edge of its own. The one exception: after a short read that ended a reply, when the next
// request has been written already. Then either an answer comes, which is an edge, or the server had closed
// in the meantime, and rejects the request with a reset, which is an edge too.
func (c *Conn) readable(fd uintptr) bool {
	for {
		b := c.rd.space()
		n, err := syscall.Read(int(fd), b)
		switch {
		case n > 0:
			var next bool
			next, c.err = c.take(n)
			if c.err != nil || c.stop {
				return true
			}
			if next && n < len(b) {
				return false
			}
		case err == nil:
			c.cause = io.EOF
			return true
		case errors.Is(err, syscall.EAGAIN):
			return false
		case !errors.Is(err, syscall.EINTR):
			c.cause = err
			return true
		}
	}
}

// TryWrite writes what the kernel takes at once and returns what it left. Where there is no raw access a short
// request is written in full and a long one not at all.
func (c *Conn) TryWrite(head, body []byte) (restHead, restBody []byte, err error) {
	if c.raw == nil {
		return c.writeShort(head, body)
	}
	c.out, c.outErr = [2][]byte{head, body}, nil
	err = c.raw.Write(c.onWrite)
	restHead, restBody = c.out[0], c.out[1]
	c.out = [2][]byte{}
	if err == nil {
		err = c.outErr
	}
	if err != nil {
		err = c.writeError(err)
	}
	return restHead, restBody, err
}

// writable makes one attempt and never waits.
func (c *Conn) writable(fd uintptr) bool {
	for {
		var n int
		var err error
		if len(c.out[1]) == 0 {
			n, err = syscall.Write(int(fd), c.out[0])
		} else {
			n, err = unix.Writev(int(fd), c.out[:])
		}
		switch {
		case err == nil:
			c.wrote(n)
		case errors.Is(err, syscall.EINTR):
			continue
		case !errors.Is(err, syscall.EAGAIN):
			c.outErr = err
		}
		return true
	}
}

// wrote takes n bytes off what is to be written.
func (c *Conn) wrote(n int) {
	if n < len(c.out[0]) {
		c.out[0] = c.out[0][n:]
		return
	}
	n -= len(c.out[0])
	c.out[0], c.out[1] = c.out[1][n:], nil
}
