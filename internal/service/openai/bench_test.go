package openai_test

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/vitals"
)

// echo answers each request, which must come in one piece, with the same bytes and without allocating.
func echo(tb testing.TB, answer string) string {
	tb.Helper()
	return testkit.Accept(tb, func(c net.Conn) {
		defer c.Close()
		in, out := make([]byte, 64<<10), []byte(answer)
		for {
			if _, err := c.Read(in); err != nil {
				return
			}
			if _, err := c.Write(out); err != nil {
				return
			}
		}
	})
}

func TestNoAllocations(t *testing.T) {
	for name, answer := range map[string]string{
		"stream": stream(append(strings.SplitAfter(strings.Repeat(token("x"), 32), "\n\n"), done)...),
		"split":  stream(strings.SplitAfter(strings.Repeat(token("x"), 32)+done, ":")...),
		"plain":  plain(200, "application/json; charset=utf-8", `{"choices":[{"message":{"role":"assistant","content":"x"}}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			k, calls := open(t, newService(t, target(echo(t, answer))), `{"stream":true}`, 4)
			k.keep = false
			k.run(calls, 100)
			if n := testkit.Allocs(func() { k.run(calls, 200) }); n >= 1 {
				t.Errorf("%.0f allocations in 200 requests", n)
			}
		})
	}
}

func BenchmarkClosedLoop(b *testing.B) {
	k, calls := open(b, newService(b, target(echo(b, plain(200, "application/json", `{"choices":[]}`)))), `{}`, 8)
	k.keep = false
	k.run(calls, 80)
	b.ReportAllocs()
	b.ResetTimer()
	k.run(calls, max(b.N, 8))
}

// pacer streams events with pauses, as a model does: one every pause to each connection, count of them a request.
func pacer(tb testing.TB, pause time.Duration, count int) string {
	tb.Helper()
	head, event, end := []byte(streamHead+"\r\n"), []byte(chunks(token("x"))), []byte(chunks(done)+"0\r\n\r\n")
	return testkit.Accept(tb, func(c net.Conn) {
		defer c.Close()
		in := make([]byte, 4<<10)
		for {
			if _, err := c.Read(in); err != nil {
				return
			}
			_, _ = c.Write(head)
			for range count {
				if pause > 0 {
					time.Sleep(pause)
				}
				_, _ = c.Write(event)
			}
			if _, err := c.Write(end); err != nil {
				return
			}
		}
	})
}

const perStream = 100

// BenchmarkStreams holds 64 streams of an event each 10 ms against readers that do nothing but read. The server's
// share of the CPU time is in both, so the difference is what counts.
func BenchmarkStreams(b *testing.B) {
	const streams = 64
	for _, pause := range []time.Duration{0, 10 * time.Millisecond} {
		b.Run("redline/"+pause.String(), func(b *testing.B) {
			k, calls := open(b, newService(b, target(pacer(b, pause, perStream))), `{"stream":true}`, streams)
			k.keep = false
			k.run(calls, streams)
			measure(b, streams, func(n int) { k.run(calls, n) })
		})
		b.Run("bare/"+pause.String(), func(b *testing.B) {
			addr := pacer(b, pause, perStream)
			conns := make([]net.Conn, streams)
			for i := range conns {
				c, err := new(net.Dialer).DialContext(b.Context(), "tcp", addr)
				if err != nil {
					b.Fatal(err)
				}
				defer c.Close()
				conns[i] = c
			}
			whole := len(streamHead) + 2 + perStream*len(chunks(token("x"))) + len(chunks(done)) + 5
			measure(b, streams, func(n int) {
				var wg sync.WaitGroup
				for _, c := range conns {
					wg.Go(func() {
						buf := make([]byte, 4<<10)
						for range n / streams {
							_, _ = c.Write([]byte("x"))
							for got := 0; got < whole; {
								k, err := c.Read(buf)
								if err != nil {
									return
								}
								got += k
							}
						}
					})
				}
				wg.Wait()
			})
		})
	}
}

// measure reports the CPU time of this process for each event.
func measure(b *testing.B, streams int, run func(n int)) {
	n := (max(b.N, 1) + streams - 1) / streams * streams
	before := vitals.Read()
	b.ReportAllocs()
	b.ResetTimer()
	run(n)
	b.StopTimer()
	cpu := vitals.Read().Since(before).CPU
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(n)/(perStream+1), "cpu-ns/event")
}
