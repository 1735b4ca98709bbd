package sys_test

import (
	"bytes"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redline-bench/redline/internal/wire/sys"
)

// pair is two connected sockets that do not block.
func pair(t *testing.T) (near, far int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = unix.Close(fds[0]), unix.Close(fds[1]) })
	return fds[0], fds[1]
}

// Bytes come as they were written, whatever the size of the pieces; a full socket takes a part and then EAGAIN.
func TestReadAndWrite(t *testing.T) {
	for _, sizes := range [][2]int{{1, 0}, {100, 7}, {0, 9}, {200 << 10, 0}, {10, 1 << 20}} {
		near, far := pair(t)
		head, body := bytes.Repeat([]byte("h"), sizes[0]), bytes.Repeat([]byte("b"), sizes[1])
		want := append(bytes.Clone(head), body...)
		var got []byte
		buf := make([]byte, 100<<10)
		for len(got) < len(want) {
			n, errno := sys.Write(near, head, body)
			if errno != 0 && errno != syscall.EAGAIN {
				t.Fatalf("write: %v", errno)
			}
			n = max(n, 0)
			inHead := min(n, len(head))
			head, body = head[inHead:], body[n-inHead:]
			for {
				n, errno := sys.Read(far, buf)
				if errno == syscall.EAGAIN {
					break
				}
				if errno != 0 {
					t.Fatalf("read: %v", errno)
				}
				got = append(got, buf[:n]...)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%v: %d bytes differ from the %d written", sizes, len(got), len(want))
		}
	}
}
