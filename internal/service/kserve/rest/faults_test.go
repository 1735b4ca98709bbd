package rest

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/httplane"
	"github.com/redline-bench/redline/internal/testkit"
	"github.com/redline-bench/redline/internal/wire/h1"
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
		"error without text":    {string(plainReply(500, ``)), record.Server, "inference failed with unknown error"},
		"error in a 200":        {string(plainReply(200, `{"id":"1","error":"no"}`)), record.Server, "no"},
		"garbage":               {"garbage", record.Protocol, "HTTP/1.x"},
		"not json":              {string(plainReply(200, `{"outputs":`)), record.Protocol, "malformed"},
		"empty body":            {string(plainReply(200, ``)), record.Protocol, "malformed"},
		"no outputs":            {string(plainReply(200, `{"id":"1"}`)), record.Protocol, "no outputs"},
		"json length too large": {strings.Replace(good, headerLength+": ", headerLength+": 9", 1), record.Protocol, "longer than the body"},
		"other id":              {strings.Replace(good, `"id":"1"`, `"id":"2"`, 1), record.Protocol, "id"},
		"no id":                 {strings.Replace(good, `"id":"1"`, `"ix":"1"`, 1), record.Protocol, "id"},
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
		if e.class != record.Transport || httplane.KindOf(e.err) != h1.Empty {
			t.Errorf("%v: %v", e.class, e.err)
		}
	}
}

func TestDeathInAReply(t *testing.T) {
	ends := failures(t, func(r *seen) []byte {
		r.last = true
		return simple(r)[:150]
	}, 1)
	if e := ends[0]; e.class != record.Transport || httplane.KindOf(e.err) != h1.Truncated {
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

// TestRefused: with the server gone every call fails as Connect, and the slot works again once it is back.
func TestRefused(t *testing.T) {
	srv := serve(t, simple)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), 2)
	k.run(calls, 10)
	srv.stop()
	k.ends = nil
	k.run(calls, 6)
	for _, e := range k.ends {
		if e.class != record.Connect && e.class != record.Transport {
			t.Errorf("%v: %v", e.class, e.err)
		}
	}
	if e := k.ends[len(k.ends)-1]; e.class != record.Connect || httplane.KindOf(e.err) != h1.Refused {
		t.Errorf("%v: %v", e.class, e.err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", srv.addr)
	if err != nil {
		t.Skip("the port was taken meanwhile")
	}
	srv.l = l
	srv.start(l, nil, simple)
	k.ends = nil
	k.run(calls, 4)
	for _, e := range k.ends {
		if e.class != record.OK {
			t.Errorf("after the server came back: %v: %v", e.class, e.err)
		}
	}
}

func TestGrowFails(t *testing.T) {
	srv := serve(t, simple)
	srv.stop()
	s := newService(t, target(srv.addr), plan.Input{})
	tr, err := s.Open(t.Context(), &collector{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var se *service.Error
	if err := tr.Grow(t.Context(), 3); !errors.As(err, &se) || se.Class != record.Connect || se.Addr != srv.addr {
		t.Errorf("got %v", err)
	}
}

func TestGrowWhileRunning(t *testing.T) {
	srv := serve(t, simple)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), 1)
	var wg sync.WaitGroup
	wg.Go(func() { k.run(calls, 2000) })
	for n := 2; n <= 32; n *= 2 {
		if err := k.tr.Grow(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	if got := srv.made.Load(); got != 32 {
		t.Errorf("%d connections", got)
	}
}

// block is a server that answers only when it is told to.
func block(t *testing.T) (*canned, chan struct{}) {
	gate := make(chan struct{})
	srv := serve(t, func(r *seen) []byte {
		<-gate
		return simple(r)
	})
	t.Cleanup(func() { close(gate) })
	return srv, gate
}

func TestCut(t *testing.T) {
	srv, _ := block(t)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), 3)
	done := make(chan struct{})
	go func() { defer close(done); k.run(calls, 6) }()
	for range 2 {
		for srv.seen.Load()%3 != 0 || srv.seen.Load() == 0 {
			runtime.Gosched()
		}
		for i := range calls {
			k.tr.Cut(i, record.Timeout)
		}
		for len(k.count(record.Timeout)) < 3 {
			runtime.Gosched()
		}
		for srv.seen.Load() < 6 {
			runtime.Gosched()
		}
	}
	<-done
	if got := k.count(record.Timeout); len(got) != 6 {
		t.Errorf("%d timeouts of 6: %+v", len(got), k.ends)
	}
	k.tr.Cut(0, record.Timeout) // nothing is in flight: nothing happens
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

// TestCutWhileDialing: a slot that cannot connect still obeys.
func TestCutWhileDialing(t *testing.T) {
	srv := serve(t, simple)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), 1)
	srv.stop()
	stop := make(chan struct{})
	var refused atomic.Int32
	k.onDone = func(c *service.Call) {
		if c.Rec.Class == record.Timeout {
			close(stop)
			return
		}
		refused.Add(1)
		k.send(c)
	}
	k.send(calls[0])
	for refused.Load() < 5 { // by now the pauses are long
		time.Sleep(time.Millisecond)
	}
	for cutting := true; cutting; {
		k.tr.Cut(0, record.Timeout)
		select {
		case <-stop:
			cutting = false
		default:
			runtime.Gosched()
		}
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
// once, and as what happened to it.
func TestTurmoil(t *testing.T) {
	srv := serve(t, simple)
	k, calls := open(t, newService(t, target(srv.addr), plan.Input{}), simpleInputs(), 6)
	for _, c := range calls {
		c.Vars.HasID = true
	}
	free := make(chan *service.Call, len(calls))
	for _, c := range calls[4:] { // four slots run in closed loop, two are sent from a goroutine of their own
		free <- c
	}
	sent, stop := 0, make(chan struct{})
	var wg sync.WaitGroup
	k.onDone = func(c *service.Call) {
		if c.Slot >= 4 {
			free <- c
			return
		}
		if k.left.Add(-1) < 0 {
			k.running.Done()
			return
		}
		k.send(c)
	}
	wg.Go(func() {
		for {
			select {
			case <-stop:
				<-free
				<-free
				return
			case c := <-free:
				sent++
				k.send(c)
			}
		}
	})
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			k.tr.Cut(i%6, record.Timeout)
			if i%50 == 0 {
				srv.hangUp()
			}
			time.Sleep(50 * time.Microsecond)
		}
	})
	k.run(calls[:4], 3000)
	close(stop)
	wg.Wait()
	if len(k.ends) != 3000+sent {
		t.Errorf("%d ends for %d calls", len(k.ends), 3000+sent)
	}
	for _, e := range k.ends {
		if e.class != record.OK && e.class != record.Timeout && e.class != record.Transport {
			t.Errorf("%v: %v", e.class, e.err)
		}
	}
	if len(k.count(record.OK)) == 0 || len(k.count(record.Timeout)) == 0 {
		t.Error("nothing went well, or nothing was cut")
	}
}
