package testkit

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-bench/redline/internal/testkit/outcome"
)

// KernelStamps returns when the kernel notes the arrival of TCP segments, and has the kernel continue until the test
// ends. The kernel begins some time after the first socket of the machine asks for notes.
func KernelStamps(tb testing.TB) {
	tb.Helper()
	client, server := TCPPair(tb)
	raw, err := client.SyscallConn()
	if err != nil {
		tb.Fatal(err)
	}
	var refused error
	if err := raw.Control(func(fd uintptr) { refused = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }); err != nil {
		tb.Fatal(err)
	}
	if refused != nil {
		outcome.NotTested(tb, "times of arrival", refused, "a kernel with SO_TIMESTAMPNS")
	}
	var note int
	var failed error
	buf, oob := make([]byte, 8), make([]byte, 64)
	read := func(fd uintptr) bool {
		_, note, _, _, failed = unix.Recvmsg(int(fd), buf, oob, 0)
		return !errors.Is(failed, unix.EAGAIN)
	}
	for end := time.Now().Add(time.Minute); note == 0; {
		if _, err := server.Write([]byte("x")); err != nil {
			tb.Fatal(err)
		}
		if err := errors.Join(raw.Read(read), failed); err != nil {
			tb.Fatal(err)
		}
		if time.Now().After(end) {
			tb.Fatal("the kernel took the option SO_TIMESTAMPNS and gives no times of arrival")
		}
	}
}
