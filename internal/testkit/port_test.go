package testkit

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// A reserved port refuses connections, serves them while the test listens, and stays the test's own in between.
func TestPort(t *testing.T) {
	addr := Port(t)
	dial := func() error {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err == nil {
			c.Close()
		}
		return err
	}
	for range 3 {
		if err := dial(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("without a listener: %v", err)
		}
		ln := Listen(t, addr)
		if err := dial(); err != nil {
			t.Errorf("with a listener: %v", err)
		}
		ln.Close()
	}
}
