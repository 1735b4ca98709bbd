package rest

import (
	"fmt"
	"math"
	"net"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire"
)

func TestClosedLoop(t *testing.T) {
	for name, vars := range map[string]service.Vars{
		"fixed":    {},
		"ids":      {HasID: true},
		"sequence": {HasID: true, Present: true, SeqID: 7, Start: true},
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, simple)
			k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), 4)
			for _, c := range calls {
				c.Vars = vars
			}
			k.run(calls, 500)
			if len(k.ends) != 500 || srv.seen.Load() != 500 || srv.made.Load() != 4 {
				t.Fatalf("%d ends, %d requests, %d connections", len(k.ends), srv.seen.Load(), srv.made.Load())
			}
			for _, e := range k.ends {
				r := e.rec
				if e.class != record.OK || e.err != nil || r.Responses != 1 || r.In != uint64(len(e.payload)-wire.Room) || r.Out < 300 {
					t.Fatalf("%+v", e)
				}
				if r.Sent <= 0 || r.Written < r.Sent || r.First < r.Sent || r.End < r.First {
					t.Fatalf("times out of order: %+v", r)
				}
			}
		})
	}
}

// TestOpenLoop sends from one goroutine that is not the slots', as a schedule does: each slot again as soon
// as its Done has begun.
func TestOpenLoop(t *testing.T) {
	srv := serve(t, simple)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), 8)
	free := make(chan *service.Call, len(calls))
	k.onDone = func(c *service.Call) { free <- c }
	for _, c := range calls {
		c.Vars.HasID = true
		free <- c
	}
	const n = 3000
	for range n {
		k.send(<-free)
	}
	k.tr.Flush()
	for range calls {
		<-free
	}
	if len(k.ends) != n || srv.seen.Load() != n {
		t.Fatalf("%d ends, %d requests", len(k.ends), srv.seen.Load())
	}
	for _, e := range k.ends {
		if e.class != record.OK || e.rec.Written < e.rec.Sent {
			t.Fatalf("%+v", e)
		}
	}
}

func TestLargeBodiesBothWays(t *testing.T) {
	const size = 5 << 20
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i * 7)
	}
	answer := func(r *seen) []byte {
		json := fmt.Sprintf(`{"id":"%s","outputs":[{"name":"O","datatype":"UINT8","shape":[%d],"parameters":{"binary_data_size":%d}}]}`, r.id, size, size)
		return reply(json, r.body[len(r.body)-size:])
	}
	srv := serve(t, answer)
	in := service.Inputs{
		Tensors: []tensor.Tensor{{Name: "I", Type: tensor.Uint8, Shape: tensor.Shape{size}, Data: data}},
		Outputs: []string{"O"},
		Expect:  []tensor.Tensor{{Name: "O", Type: tensor.Uint8, Shape: tensor.Shape{size}, Data: data}},
	}
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), in, 2)
	calls[0].Vars.HasID = true
	calls[1].Vars.HasID = true
	k.run(calls, 4)
	for _, e := range k.ends {
		if e.class != record.OK {
			t.Fatalf("%v: %v", e.class, e.err)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	for name, vars := range map[string]service.Vars{
		"fixed":            {},
		"ids":              {HasID: true},
		"sequence":         {HasID: true, Present: true, SeqID: math.MaxUint64},
		"sequence by name": {HasID: true, Present: true, SeqName: "sequence-100"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := echo(t)
			k, calls := open(t, newService(t, target(addr), plan.Input{}), simpleInputs(), 4)
			k.keep = false
			for _, c := range calls {
				c.Vars = vars
			}
			k.run(calls, 200)
			if n := testkit.Allocs(func() { k.run(calls, 400) }); n >= 1 {
				t.Errorf("%.0f allocations in 400 requests", n)
			}
		})
	}
}

// echo answers requests of any size without allocating: it finds the id and copies it.
func echo(tb testing.TB) string {
	return testkit.Accept(tb, echoConn)
}

func echoConn(c net.Conn) {
	defer c.Close()
	in, out := make([]byte, 64<<10), make([]byte, 0, 64<<10)
	model := simple(&seen{id: "X"})
	for {
		n, err := c.Read(in) // requests are small and come in one piece
		if err != nil {
			return
		}
		out = echoReply(out[:0], in[:n], model)
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}
