package h1_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/h1"
)

func TestNoAllocations(t *testing.T) {
	modes(t, func(t *testing.T, dial dialer) {
		for name, body := range map[string]int{"small": 0, "large": 1 << 20} {
			big, exchanges := make([]byte, body), 40
			if body > 0 {
				exchanges = 10
			}
			l := &loop{c: dial(t, h1.Config{Addr: listen(t, answer(len(request)+body, reply))}), req: []byte(request), body: big}
			l.run(t, 10) // the buffers grow
			if n := testkit.Allocs(func() { l.run(t, exchanges) }); n >= 1 {
				t.Errorf("%s: %.0f allocations in %d exchanges", name, n, exchanges)
			}
		}
	})
}

// BenchmarkExchange shows what the Loop is good for: the same exchanges on 1 and on 64 connections, each read by a
// goroutine of its own, and all served by one Loop.
func BenchmarkExchange(b *testing.B) {
	for name, dial := range map[string]dialer{"alone": dial, "loop": looped(b)} {
		for _, conns := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", name, conns), func(b *testing.B) {
				addr := listen(b, answer(len(request), reply))
				loops := make([]*loop, conns)
				for i := range loops {
					loops[i] = &loop{c: dial(b, h1.Config{Addr: addr}), req: []byte(request)}
				}
				b.ReportAllocs()
				b.ResetTimer()
				var wg sync.WaitGroup
				for _, l := range loops {
					wg.Go(func() {
						if err := l.exchange(b.N/conns + 1); err != nil {
							b.Error(err)
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// BenchmarkBare is the floor: the same exchange with plain reads and writes, nothing parsed.
func BenchmarkBare(b *testing.B) {
	addr := listen(b, answer(len(request), reply))
	var d net.Dialer
	c, err := d.DialContext(b.Context(), "tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	req, buf := []byte(request), make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(req); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, buf[:len(reply)]); err != nil {
			b.Fatal(err)
		}
	}
}
