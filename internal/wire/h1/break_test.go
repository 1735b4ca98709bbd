package h1_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/wire"
	"github.com/redline-bench/redline/internal/wire/h1"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// TestBreakEndsAWrite shows that a request of which the server reads no more does not hold the loop.
func TestBreakEndsAWrite(t *testing.T) {
	const whole, half = 32 << 20, 16 << 20 // what is left is more than the kernel takes
	begin := func(t *testing.T, read int) (l *loop, done chan struct{}) {
		t.Helper()
		release, done := make(chan struct{}), make(chan struct{})
		addr := listen(t, func(c net.Conn) {
			_ = c.(*net.TCPConn).SetReadBuffer(64 << 10)
			_, _ = io.ReadFull(c, make([]byte, read))
			close(done)
			<-release
		})
		t.Cleanup(func() { close(release) })
		l = &loop{c: looped(t)(t, h1.Config{Addr: addr}), left: 1}
		if err := write(l.c, []byte(request), make([]byte, whole)); err != nil {
			t.Fatal(err)
		}
		return l, done
	}
	end := func(t *testing.T, l *loop) {
		t.Helper()
		wantKind(t, l.c.Serve(l), neterr.Broken, false)
		if l.drained != 1 {
			t.Errorf("the end of the write was told %d times", l.drained)
		}
	}
	t.Run("before the loop serves it", func(t *testing.T) {
		l, _ := begin(t, 0)
		l.c.Break()
		end(t, l)
	})
	t.Run("while the loop writes", func(t *testing.T) {
		l, done := begin(t, half)
		go func() {
			<-done
			l.c.Break()
		}()
		end(t, l)
	})
}

func TestDoEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := dial(t, h1.Config{Addr: listen(t, func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, len(request)))
		cancel()
		_, _ = io.Copy(io.Discard, c)
	})})
	_, err := c.Do(ctx, []byte(request), nil)
	wantKind(t, err, neterr.Broken, false)
}

// TestBreakWakesTheReader has a connection broken while its reader waits after a reply, and before it reads.
func TestBreakWakesTheReader(t *testing.T) {
	modes(t, func(t *testing.T, dial dialer) {
		for name, asked := range map[string]bool{"at rest": true, "before it reads": false} {
			t.Run(name, func(t *testing.T) {
				c := dial(t, h1.Config{Addr: listen(t, answer(len(request), reply))})
				replied := make(chan struct{})
				var wg sync.WaitGroup
				if asked {
					if err := write(c, []byte(request), nil); err != nil {
						t.Fatal(err)
					}
					wg.Go(func() { <-replied; c.Break() })
				} else {
					c.Break()
				}
				wantKind(t, c.Serve(resting{&loop{c: c}, replied}), neterr.Broken, false)
				wg.Wait()
				if _, _, _, err := c.TryWrite([]byte(request), nil); err == nil {
					t.Error("a broken connection can be written to")
				}
			})
		}
	})
}

// resting tells of its first reply and sends nothing more.
type resting struct {
	*loop
	replied chan struct{}
}

func (r resting) Reply(*wire.Reply) { close(r.replied) }
