//go:build !linux

package h1

import (
	"context"
	"syscall"
)

// Loop stands for the loop of Linux. Here each connection is read by the goroutine that calls Serve.
type Loop struct{}

// NewLoop has nothing to start.
func NewLoop() (*Loop, error) { return &Loop{}, nil }

// Close has nothing to end.
func (*Loop) Close() error { return nil }

// Dial is Dial of the package.
func (*Loop) Dial(ctx context.Context, cfg Config) (*Conn, error) { return Dial(ctx, cfg) }

// Drainer is a Handler that is told the end of a write that TryWrite left to the loop.
type Drainer interface{ Drained(err error) }

// socket does not exist here.
type socket struct{}

func (s *socket) shut()        {}
func (s *socket) close() error { return nil }

func (c *Conn) serveLoop() error { return c.serve() }

func (c *Conn) tryWrite(head, body []byte) (later bool, err error) { return false, c.Write(head, body) }

// Abandon has nothing to give up.
func (c *Conn) Abandon() {}

// latePort has nothing to set.
func latePort(_, _ string, _ syscall.RawConn) error { return nil }
