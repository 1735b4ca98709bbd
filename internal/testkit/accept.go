package testkit

import (
	"net"
	"sync"
	"testing"
)

// Accept hands every connection to a port of its own to talk, each on a goroutine. The connections are talk's to close.
// It returns the address; at the end of the test it waits until all have been left.
func Accept(tb testing.TB, talk func(net.Conn)) string {
	tb.Helper()
	l, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { talk(c) })
		}
	})
	tb.Cleanup(func() { l.Close(); wg.Wait() })
	return l.Addr().String()
}
