//go:build !linux

package conns

import "net"

// waitForRoom does nothing: this system does not report how much it would send at once.
func waitForRoom(net.Conn) {}
