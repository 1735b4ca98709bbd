package testkit

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

// Port reserves a port of 127.0.0.1 until the test ends and returns its address. Nothing listens there, so connections
// are refused. The test may listen at the address, stop, and listen again: no other program gets the port in between.
//
// A connection from that port holds it. Its socket allows others to bind the same address, as the listeners of package
// net do, and the kernel does not give such a port to a program that requests any free port.
func Port(tb testing.TB) string {
	tb.Helper()
	ln := Listen(tb, "127.0.0.1:0")
	tb.Cleanup(func() { ln.Close() })
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, Control: shareAddress}
	holder, err := d.DialContext(tb.Context(), "tcp", ln.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { holder.Close() })
	return holder.LocalAddr().String()
}

// portWait is how long Listen waits for a port that is in use.
const portWait = 30 * time.Second

// Listen listens at an address of Port, or at any free port for "127.0.0.1:0". Any program may have been given a reserved
// port for an outgoing connection; Listen waits for the end of that connection.
func Listen(tb testing.TB, addr string) net.Listener {
	tb.Helper()
	for begun := time.Now(); ; {
		ln, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", addr)
		switch {
		case err == nil:
			return ln
		case !errors.Is(err, syscall.EADDRINUSE), time.Since(begun) > portWait:
			tb.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TCPPair is a connection over loopback within this process. It is closed when the test ends.
func TCPPair(tb testing.TB) (client, server *net.TCPConn) {
	tb.Helper()
	ln := Listen(tb, "127.0.0.1:0")
	defer ln.Close()
	near, err := new(net.Dialer).DialContext(tb.Context(), "tcp", ln.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { near.Close() })
	far, err := ln.Accept()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { far.Close() })
	return near.(*net.TCPConn), far.(*net.TCPConn)
}
