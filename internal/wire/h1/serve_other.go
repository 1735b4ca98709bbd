//go:build !linux

package h1

import "net"

// openRaw does nothing: here everything goes through net.Conn.
func (c *Conn) openRaw(net.Conn) {}

func (c *Conn) serveRaw() error { return c.serve() }

// TryWrite writes a short request in full, and leaves a long one to Write.
func (c *Conn) TryWrite(head, body []byte) (restHead, restBody []byte, err error) {
	return c.writeShort(head, body)
}
