//go:build !linux

package h1

import "net"

// openRaw does nothing: here everything goes through net.Conn.
func (c *Conn) openRaw(net.Conn) {}

func (c *Conn) serveRaw() error { return c.serve() }

// TryWrite leaves everything to Write.
func (c *Conn) TryWrite(head, body []byte) (restHead, restBody []byte, err error) {
	return head, body, nil
}
