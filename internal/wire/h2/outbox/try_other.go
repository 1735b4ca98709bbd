//go:build !linux

package outbox

import (
	"net"
	"syscall"
)

// rawWriter returns nil: writes always go through the background goroutine.
func rawWriter(net.Conn) syscall.RawConn { return nil }

func (o *Box) tryWrite(uintptr) bool { return true }

// vector is not used here.
type vector struct{}
