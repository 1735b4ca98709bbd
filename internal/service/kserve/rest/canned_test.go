package rest

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
)

// canned is a server whose answer to each request is decided by a function.
type canned struct {
	tb    testing.TB
	addr  string
	l     net.Listener
	wg    sync.WaitGroup
	mu    sync.Mutex
	conns map[net.Conn]bool
	down  bool         // no connection is taken any more
	seen  atomic.Int64 // requests
	made  atomic.Int64 // connections
}

// seen is one request as the server got it.
type seen struct {
	line string // request line
	head string // all of the head
	body []byte
	nth  int // on this connection, from 0
	id   string
	last bool // set by the handler: close after this answer
}

// handler answers a request with raw bytes; nil closes the connection.
type handler func(r *seen) []byte

func serve(tb testing.TB, h handler) *canned { return serveTLS(tb, nil, h) }

func serveTLS(tb testing.TB, cfg *tls.Config, h handler) *canned {
	tb.Helper()
	s := &canned{tb: tb, addr: testkit.Port(tb), conns: map[net.Conn]bool{}}
	s.start(cfg, h)
	tb.Cleanup(s.stop)
	return s
}

// start listens, for the first time or after stop.
func (s *canned) start(cfg *tls.Config, h handler) {
	s.tb.Helper()
	s.l, s.down = testkit.Listen(s.tb, s.addr), false
	l := s.l
	if cfg != nil {
		l = tls.NewListener(l, cfg)
	}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.made.Add(1)
			if !s.keep(c) {
				c.Close()
				continue
			}
			s.wg.Go(func() {
				s.talk(c, h)
				c.Close()
				s.mu.Lock()
				delete(s.conns, c)
				s.mu.Unlock()
			})
		}
	})
}

// keep notes a connection, unless the server has been stopped.
func (s *canned) keep(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = true
	return !s.down
}

// stop ends the server and every connection.
func (s *canned) stop() {
	s.l.Close()
	s.mu.Lock()
	s.down = true
	s.mu.Unlock()
	s.hangUp()
	s.wg.Wait()
}

// hangUp closes every connection and goes on listening.
func (s *canned) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

func (s *canned) talk(c net.Conn, h handler) {
	br := bufio.NewReader(c)
	for nth := 0; ; nth++ {
		r, err := readRequest(br)
		if err != nil {
			return
		}
		s.seen.Add(1)
		r.nth = nth
		out := h(r)
		if out == nil {
			return
		}
		if _, err := c.Write(out); err != nil || r.last {
			return
		}
	}
}

func readRequest(br *bufio.Reader) (*seen, error) {
	var head strings.Builder
	size := 0
	r := &seen{}
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if r.line == "" {
			r.line = strings.TrimSpace(line)
		}
		head.WriteString(line)
		if line == "\r\n" {
			break
		}
		if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			size, _ = strconv.Atoi(strings.TrimSpace(v))
		}
	}
	r.head, r.body = head.String(), make([]byte, size)
	_, err := io.ReadFull(br, r.body)
	if rest, ok := bytes.CutPrefix(r.body, []byte(`{"id":"`)); ok {
		r.id, _, _ = strings.Cut(string(rest), `"`)
	}
	return r, err
}

// reply renders a response with a JSON part and binary data after it.
func reply(json string, binary []byte) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"+headerLength+": %d\r\nContent-Length: %d\r\n\r\n%s%s",
		len(json), len(json)+len(binary), json, binary)
}

func plainReply(status int, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), len(body), body)
}

// simple answers like the model of that name: two INT32[1,16] outputs, with the id when there is one.
func simple(r *seen) []byte {
	id := ""
	if r.id != "" {
		id = `"id":"` + r.id + `",`
	}
	return reply(`{`+id+`"model_name":"simple","model_version":"1","outputs":[`+
		`{"name":"OUTPUT0","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}},`+
		`{"name":"OUTPUT1","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}}]}`, make([]byte, 128))
}

func target(addr string) plan.Target {
	return plan.Target{Kind: plan.Triton, Protocol: plan.HTTP, URL: addr, Model: "simple"}
}

func newService(tb testing.TB, t plan.Target, in plan.Input) *Service {
	tb.Helper()
	s, err := New(t, in)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func simpleInputs() service.Inputs {
	in := service.Inputs{Outputs: []string{"OUTPUT1", "OUTPUT0"}}
	for _, name := range []string{"INPUT1", "INPUT0"} {
		in.Tensors = append(in.Tensors, tensor.Tensor{Name: name, Type: tensor.Int32, Shape: tensor.Shape{1, 16}, Data: make([]byte, 64)})
	}
	return in
}

// ended is what a sink was told of one call.
type ended struct {
	slot    int
	class   record.Class
	err     error
	rec     record.Record
	payload []byte
}

// collector is a sink that sends again until it has enough, in closed loop.
type collector struct {
	tr      service.Transport
	left    atomic.Int64 // calls still to be sent
	keep    bool
	mu      sync.Mutex
	ends    []ended
	last    map[int][]byte
	running sync.WaitGroup
	ids     atomic.Uint64
	onDone  func(*service.Call)
}

func (k *collector) Response(c *service.Call, payload []byte, _ int64, _ bool) {
	if k.keep {
		k.mu.Lock()
		k.last[c.Slot] = bytes.Clone(payload)
		k.mu.Unlock()
	}
}

func (k *collector) Done(c *service.Call) {
	if k.keep {
		k.mu.Lock()
		k.ends = append(k.ends, ended{c.Slot, c.Rec.Class, c.Err, c.Rec, k.last[c.Slot]})
		k.mu.Unlock()
	}
	if k.onDone != nil {
		k.onDone(c)
		return
	}
	if k.left.Add(-1) < 0 {
		k.running.Done()
		return
	}
	k.send(c)
}

func (k *collector) send(c *service.Call) {
	c.Rec, c.Err = record.Record{}, nil
	if c.Vars.HasID {
		c.Vars.ID = k.ids.Add(1)
	}
	k.tr.Send(c)
}

// run sends n calls over the slots in closed loop and waits for all to end.
func (k *collector) run(calls []*service.Call, n int) {
	k.left.Store(int64(n - len(calls)))
	k.running.Add(len(calls))
	for _, c := range calls {
		k.send(c)
	}
	k.running.Wait()
}

// open makes a transport with slots and a prepared call for each.
func open(tb testing.TB, s *Service, in service.Inputs, slots int) (*collector, []*service.Call) {
	tb.Helper()
	k := &collector{keep: true, last: map[int][]byte{}}
	tr, err := s.Open(tb.Context(), k)
	if err != nil {
		tb.Fatal(err)
	}
	k.tr = tr
	tb.Cleanup(func() { tr.Close() })
	if err := tr.Grow(tb.Context(), slots); err != nil {
		tb.Fatal(err)
	}
	req, err := s.Prepare(in)
	if err != nil {
		tb.Fatal(err)
	}
	calls := make([]*service.Call, slots)
	for i := range calls {
		calls[i] = &service.Call{Slot: i, Req: req}
	}
	return k, calls
}
