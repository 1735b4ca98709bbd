package conns

import (
	"io"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// Small writes in quick succession leave at once, each: none waits in the system for an acknowledgement of those before it.
func TestWritesLeaveAtOnce(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	check(t, err)
	defer client.Close()
	server, err := l.Accept()
	check(t, err)
	defer server.Close()
	go io.Copy(io.Discard, client)
	raw, err := server.(*net.TCPConn).SyscallConn()
	check(t, err)
	c := newConn(server, New(true))
	for i := range 300 {
		_, err := c.Write([]byte("event"))
		check(t, err)
		check(t, raw.Control(func(fd uintptr) {
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil {
				t.Fatal(err)
			}
			if info.Notsent_bytes > 0 {
				t.Fatalf("write %d: %d bytes were not sent; %d segments are on their way, at most %d may be", i, info.Notsent_bytes, info.Unacked, info.Snd_cwnd)
			}
		}))
	}
}
