package h1_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/wire/h1"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// TestHalfClose has a server answer, close its side of the connection, and go on taking in what comes, as servers
// do that close in stages: no reset tells that the next request was dropped, only the close that came with the reply.
func TestHalfClose(t *testing.T) {
	modes(t, func(t *testing.T, dial dialer) {
		closed := make(chan struct{})
		addr := listen(t, func(c net.Conn) {
			_, _ = io.ReadFull(c, make([]byte, len(request)))
			_, _ = io.WriteString(c, reply)
			_ = c.(*net.TCPConn).CloseWrite()
			close(closed)
			_, _ = io.Copy(io.Discard, c)
		})
		l := &loop{c: dial(t, h1.Config{Addr: addr}), req: []byte(request), left: 2}
		l.send()
		<-closed // reply and close are there before the first read
		timer := time.AfterFunc(time.Minute, l.c.Break)
		defer timer.Stop()
		wantKind(t, l.c.Serve(l), neterr.Closed, false)
		if l.left != 1 {
			t.Errorf("%d replies are missing, want 1", l.left)
		}
	})
}
