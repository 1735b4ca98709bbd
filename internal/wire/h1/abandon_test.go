package h1_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/h1"
)

// hasty calls Abandon at every reply, as a reader does that sees the reply before the sender has returned.
type hasty struct{ *loop }

func (l hasty) Reply(r *wire.Reply) {
	l.c.Abandon()
	l.loop.Reply(r)
}

// TestAbandonLeavesAWrittenRequestAlone calls Abandon after a request that was written as a whole. The connection must
// carry the next request, also one that the kernel takes only in part.
func TestAbandonLeavesAWrittenRequestAlone(t *testing.T) {
	const size = 32 << 20
	addr := listen(t, func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, len(request)))
		_, _ = io.WriteString(c, reply)
		_, _ = io.CopyN(io.Discard, c, int64(len(request)+size))
		_, _ = io.WriteString(c, reply)
	})
	c := looped(t)(t, h1.Config{Addr: addr})
	l := &loop{c: c, req: []byte(request), left: 2}
	l.send()
	l.body = make([]byte, size) // of the second request
	stuck := time.AfterFunc(20*time.Second, c.Break)
	defer stuck.Stop()
	if err := c.Serve(hasty{l}); err != nil || l.left != 0 || l.bad != 0 || l.drained != 1 {
		t.Errorf("%v, %d left, %d bad, %d drained", err, l.left, l.bad, l.drained)
	}
}
