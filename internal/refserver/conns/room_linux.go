package conns

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// look is the interval of checks whether a connection has room.
	look = 50 * time.Microsecond
	// maxWait limits how long a write waits for room: a client may have stopped reading.
	maxWait = time.Second
)

// waitForRoom returns when the system would send the next write at once. TCP limits the segments that are not yet acknowledged
// (the congestion window). Many streams with small events reach the limit. Data written then waits in the system, and the time
// of the write would not be the time at which it is sent.
func waitForRoom(nc net.Conn) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	for end := time.Now().Add(maxWait); time.Now().Before(end); time.Sleep(look) {
		room := true
		err := raw.Control(func(fd uintptr) {
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			room = err != nil || info.State != established || info.Unacked < info.Snd_cwnd && info.Notsent_bytes == 0
		})
		if err != nil || room {
			return
		}
	}
}

// established is TCP_ESTABLISHED of the kernel: the state of a connection that can carry data both ways.
const established = 1
