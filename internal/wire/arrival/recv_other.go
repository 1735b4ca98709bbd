//go:build !linux

package arrival

import "net"

// Conn does not exist here.
type Conn struct{ net.Conn }

// Wrap returns nil: there are no notes.
func Wrap(net.Conn) *Conn { return nil }

// Pieces, More, Expect and ReadLarge are never asked for.
func (c *Conn) Pieces()                         {}
func (c *Conn) More() bool                      { return false }
func (c *Conn) Expect(int)                      {}
func (c *Conn) ReadLarge(b []byte) (int, error) { return c.Read(b) }

// Last is never asked for.
func (c *Conn) Last() (at, late int64) { return 0, 0 }

func outOfOrder(int) uint32 { return 0 }
