package rest

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/neterr"
)

// failures runs calls against a handler and gives back how each ended.
func failures(t *testing.T, h handler, n int) []ended {
	t.Helper()
	srv := serve(t, h)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), 1)
	calls[0].Vars.HasID = true
	k.run(calls, n)
	for _, e := range k.ends {
		var se *service.Error
		if e.err != nil && (!errors.As(e.err, &se) || se.Class != e.class || se.Op != "infer") {
			t.Errorf("%v: error %#v", e.class, e.err)
		}
		if (e.class == record.OK) != (e.err == nil) || e.rec.End < e.rec.Sent {
			t.Errorf("%+v", e)
		}
	}
	return k.ends
}

func TestFailureClasses(t *testing.T) {
	good := string(simple(&seen{id: "1"}))
	for name, tc := range map[string]struct {
		answer string
		want   record.Class
		text   string
	}{
		"server error":          {string(plainReply(400, `{"error":"batch \u003c too big"}`)), record.Server, "batch < too big"},
		"error without text":    {string(plainReply(500, ``)), record.Server, "the server answered with HTTP 500 Internal Server Error"},
		"error in a 200":        {string(plainReply(200, `{"id":"1","error":"no"}`)), record.Server, "no"},
		"garbage":               {"garbage", record.Protocol, "HTTP/1.x"},
		"not json":              {string(plainReply(200, `{"outputs":`)), record.Protocol, "malformed"},
		"empty body":            {string(plainReply(200, ``)), record.Protocol, "malformed"},
		"no outputs":            {string(plainReply(200, `{"id":"1"}`)), record.Protocol, "no outputs"},
		"json length too large": {strings.Replace(good, headerLength+": ", headerLength+": 9", 1), record.Protocol, "longer than the body"},
		"other id":              {strings.Replace(good, `"id":"1"`, `"id":"2"`, 1), record.Protocol, "id"},
		"sizes":                 {strings.Replace(good, `"shape":[1,16],"parameters":{"binary_data_size":64}}]`, `"shape":[1,15],"parameters":{"binary_data_size":60}}]`, 1), record.Protocol, "add up"},
		"shape":                 {strings.Replace(good, `[1,16]`, `[1,15]`, 1), record.Protocol, "datatype and shape"},
		"compressed":            {strings.Replace(good, "Content-Type: ", "Content-Encoding: gzip\r\nContent-Type: ", 1), record.Protocol, "compressed"},
	} {
		t.Run(name, func(t *testing.T) {
			ends := failures(t, func(*seen) []byte { return []byte(tc.answer) }, 1)
			if e := ends[0]; e.class != tc.want || !strings.Contains(fmt.Sprint(e.err), tc.text) {
				t.Errorf("got %v: %v; want %v with %q", e.class, e.err, tc.want, tc.text)
			}
		})
	}
}

func TestDeathBeforeAnyReply(t *testing.T) {
	ends := failures(t, func(*seen) []byte { return nil }, 3)
	for _, e := range ends {
		if e.class != record.Transport || neterr.KindOf(e.err) != neterr.Closed {
			t.Errorf("%v: %v", e.class, e.err)
		}
	}
}

func TestDeathInAReply(t *testing.T) {
	ends := failures(t, func(r *seen) []byte {
		r.last = true
		return simple(r)[:150]
	}, 1)
	if e := ends[0]; e.class != record.Transport || neterr.KindOf(e.err) != neterr.Truncated {
		t.Errorf("%v: %v", e.class, e.err)
	}
}

// TestClosedByTheServer: a connection that the server ends after a reply, said or unsaid, costs no request.
func TestClosedByTheServer(t *testing.T) {
	for name, h := range map[string]handler{
		"said": func(r *seen) []byte {
			out := strings.Replace(string(simple(r)), "\r\n", "\r\nConnection: close\r\n", 1)
			return []byte(out)
		},
		"unsaid": func(r *seen) []byte {
			if r.nth == 3 { // closes instead of a fourth answer: to the client the same as a close at rest
				return nil
			}
			return simple(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, e := range failures(t, h, 50) {
				if e.class != record.OK {
					t.Errorf("%v: %v", e.class, e.err)
				}
			}
		})
	}
}

// TestIdleClose: while a slot rests the server closes its connection; the next request finds a new one.
func TestIdleClose(t *testing.T) {
	srv := serve(t, simple)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), 1)
	for i := range 5 {
		k.run(calls, 1)
		srv.hangUp()
		if e := k.ends[i]; e.class != record.OK {
			t.Fatalf("%v: %v", e.class, e.err)
		}
	}
}

// TestRefused: with the server gone every call fails as Connect, and the slot works again once it is back. The first call
// of a slot may still be written to the connection that the server has closed.
func TestRefused(t *testing.T) {
	srv := serve(t, simple)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), 2)
	k.run(calls, 10)
	srv.stop()
	k.ends = nil
	k.run(calls, 6)
	gone := map[int]bool{}
	for _, e := range k.ends {
		refused := e.class == record.Connect && neterr.KindOf(e.err) == neterr.Refused
		if !refused && (e.class != record.Transport || gone[e.slot]) {
			t.Errorf("slot %d: %v: %v", e.slot, e.class, e.err)
		}
		gone[e.slot] = true
	}
	srv.start(nil, simple)
	k.ends = nil
	k.run(calls, 4)
	for _, e := range k.ends {
		if e.class != record.OK {
			t.Errorf("after the server came back: %v: %v", e.class, e.err)
		}
	}
}

func TestGrowFails(t *testing.T) {
	addr := testkit.Port(t)
	s := newService(t, target(addr), plan.Input{})
	tr, err := s.Open(t.Context(), &collector{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var se *service.Error
	if err := tr.Grow(t.Context(), 3); !errors.As(err, &se) || se.Class != record.Connect || se.Addr != addr {
		t.Errorf("got %v", err)
	}
}

func TestGrowWhileRunning(t *testing.T) {
	srv := serve(t, simple)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), 1)
	var wg sync.WaitGroup
	wg.Go(func() { k.run(calls, 2000) })
	const slots = 32
	for n := 2; n <= slots; n *= 2 {
		if err := k.tr.Grow(t.Context(), n); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	for i := 1; i < slots; i++ {
		calls = append(calls, &service.Call{Slot: i, Req: calls[0].Req})
	}
	k.run(calls, slots) // the server has taken a connection when it has answered on it
	if got := srv.made.Load(); got != 32 {
		t.Errorf("%d connections", got)
	}
}

// block is a server that answers when the test ends. It tells of each request.
func block(t *testing.T) (srv *canned, asked chan struct{}) {
	gate, asked := make(chan struct{}), make(chan struct{}, 100)
	srv = serve(t, func(r *seen) []byte {
		asked <- struct{}{}
		<-gate
		return simple(r)
	})
	t.Cleanup(func() { close(gate) })
	return srv, asked
}

func TestCut(t *testing.T) {
	const slots, rounds = 3, 2
	srv, asked := block(t)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), slots)
	ends := make(chan record.Class, slots*rounds)
	k.left.Store(slots * (rounds - 1))
	k.onDone = func(c *service.Call) {
		ends <- c.Rec.Class
		if k.left.Add(-1) >= 0 {
			k.send(c)
		}
	}
	for _, c := range calls {
		k.send(c)
	}
	for range rounds {
		for range slots {
			<-asked
		}
		for i := range slots {
			k.tr.Cut(i, record.Timeout)
		}
		for range slots {
			if class := <-ends; class != record.Timeout {
				t.Errorf("ended as %v", class)
			}
		}
	}
	k.tr.Cut(0, record.Timeout) // nothing is in flight: nothing happens
	if len(ends) > 0 {
		t.Error("a call ended twice")
	}
}

func (k *collector) count(class record.Class) (out []ended) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.ends {
		if e.class == class {
			out = append(out, e)
		}
	}
	return out
}

func TestCloseCancels(t *testing.T) {
	srv, _ := block(t)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), 5)
	var done atomic.Int32
	k.onDone = func(*service.Call) { done.Add(1) }
	for _, c := range calls {
		k.send(c)
	}
	if err := k.tr.Close(); err != nil {
		t.Fatal(err)
	}
	if done.Load() != 5 || len(k.count(record.Canceled)) != 5 {
		t.Errorf("%d ended, %d canceled", done.Load(), len(k.count(record.Canceled)))
	}
	k.send(calls[0]) // after Close a call still gets its end
	if done.Load() != 6 {
		t.Error("a call after Close has no end")
	}
}

func TestEarlyAnswer(t *testing.T) {
	// The server answers with an error before it has read a large request, and closes.
	addr := testkit.Accept(t, func(c net.Conn) {
		defer c.Close()
		buf := make([]byte, 1000)
		if _, err := c.Read(buf); err == nil {
			_, _ = c.Write(plainReply(413, `{"error":"too large"}`))
		}
		_ = c.(*net.TCPConn).CloseWrite()
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
		}
	})
	in := simpleInputs()
	in.Tensors[0].Data = make([]byte, 32<<20)
	k, calls := open(t, newService(t, target(addr), plan.Input{}), in, 1)
	k.run(calls, 3)
	for _, e := range k.ends {
		if e.class != record.Server || e.err.Error() != "too large" {
			t.Errorf("%v: %v", e.class, e.err)
		}
	}
	k.tr.Close()
}

// TestTurmoil: requests are cut and connections closed at any moment, from any goroutine; still every call ends
// once, and as what happened to it. Four slots run in closed loop, two are sent from a goroutine of their own. Every
// third end has another call cut, so that there is always something to cut, until enough of both has been seen.
func TestTurmoil(t *testing.T) {
	const slots, looped, enough = 6, 4, 500
	srv := serve(t, simple)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), slots)
	for _, c := range calls {
		c.Vars.HasID = true
	}
	var sent, ends atomic.Int64
	var by [record.NumClasses]atomic.Int64 // ends by class
	over := func() bool { return by[record.OK].Load() >= enough && by[record.Timeout].Load() >= enough }
	free, trouble := make(chan *service.Call, slots), make(chan struct{}, slots)
	var wg sync.WaitGroup
	k.onDone = func(c *service.Call) {
		by[c.Rec.Class].Add(1)
		if ends.Add(1)%3 == 0 {
			select {
			case trouble <- struct{}{}:
			default:
			}
		}
		if c.Slot < looped && !over() {
			sent.Add(1)
			k.send(c)
			return
		}
		free <- c
	}
	wg.Go(func() {
		for left := slots; left > 0; {
			c := <-free
			if c.Slot < looped || over() {
				left--
				continue
			}
			sent.Add(1)
			k.send(c)
		}
		close(trouble)
	})
	wg.Go(func() {
		n := 0
		for range trouble {
			k.tr.Cut(n%slots, record.Timeout)
			if n++; n%50 == 0 {
				srv.hangUp()
			}
		}
	})
	for _, c := range calls {
		sent.Add(1)
		k.send(c)
	}
	wg.Wait()
	if int64(len(k.ends)) != sent.Load() {
		t.Errorf("%d ends for %d calls", len(k.ends), sent.Load())
	}
	for _, e := range k.ends {
		if e.class != record.OK && e.class != record.Timeout && e.class != record.Transport {
			t.Errorf("%v: %v", e.class, e.err)
		}
	}
}
