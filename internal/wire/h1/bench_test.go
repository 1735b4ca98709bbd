package h1_test

import (
	"io"
	"net"
	"testing"

	"github.com/redline-bench/redline/internal/wire/h1"
)

func TestNoAllocations(t *testing.T) {
	for name, body := range map[string]int{"small": 0, "large": 1 << 20} {
		big := make([]byte, body)
		l := &loop{c: dial(t, h1.Config{Addr: listen(t, answer(len(request)+body, reply))}), req: []byte(request), body: big}
		l.run(t, 10)
		if n := testing.AllocsPerRun(5, func() { l.run(t, 40) }); n >= 1 {
			t.Errorf("%s: %.0f allocations in 40 exchanges", name, n)
		}
	}
}

func BenchmarkExchange(b *testing.B) {
	l := &loop{c: dial(b, h1.Config{Addr: listen(b, answer(len(request), reply))}), req: []byte(request)}
	b.ReportAllocs()
	l.run(b, b.N)
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
