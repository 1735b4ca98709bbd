package openai_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/service/openai"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
)

// asked is one request as the server got it.
type asked struct{ head, body string }

// talker answers a request by writing to the connection. Returning false closes it.
type talker func(w io.Writer, r asked) bool

// serve runs a server whose every answer is the talker's.
func serve(tb testing.TB, talk talker) string {
	tb.Helper()
	return testkit.Accept(tb, func(c net.Conn) {
		defer c.Close()
		br := bufio.NewReader(c)
		for {
			r, err := readRequest(br)
			if err != nil || !talk(c, r) {
				return
			}
		}
	})
}

func readRequest(br *bufio.Reader) (asked, error) {
	var r asked
	size := 0
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			return r, err
		}
		r.head += line
		if line == "\r\n" {
			break
		}
		if v, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			size, _ = strconv.Atoi(strings.TrimSpace(v))
		}
	}
	b := make([]byte, size)
	_, err := io.ReadFull(br, b)
	r.body = string(b)
	return r, err
}

// always answers with the same bytes.
func always(answer string) talker {
	return func(w io.Writer, _ asked) bool {
		_, err := io.WriteString(w, answer)
		return err == nil
	}
}

// plain is an answer in one piece; extra are further header lines.
func plain(status int, ctype, body string, extra ...string) string {
	return fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: %s\r\n%sContent-Length: %d\r\n\r\n%s",
		status, ctype, strings.Join(append(extra, ""), "\r\n"), len(body), body)
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n"

// stream is a chunked answer with one chunk for each piece.
func stream(pieces ...string) string {
	return streamHead + "\r\n" + chunks(pieces...) + "0\r\n\r\n"
}

func chunks(pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		if p != "" {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", len(p), p)
		}
	}
	return b.String()
}

func token(text string) string {
	return `data: {"choices":[{"index":0,"finish_reason":null,"delta":{"content":"` + text + `"}}]}` + "\n\n"
}

const done = "data: [DONE]\n\n"

// ended is how a call ended, with what was reported of it.
type ended struct {
	rec    record.Record
	err    error
	texts  []string
	at     []int64
	finals int // empty ones
}

// collector is a sink that sends again until it has enough, in closed loop.
type collector struct {
	tr      service.Transport
	left    atomic.Int64
	keep    bool
	running sync.WaitGroup
	mu      sync.Mutex
	open    map[int]*ended
	ends    []ended
	seen    chan int64         // is told when each response was handled, where it is set
	ended   chan *service.Call // is told of each end, where it is set
}

func (k *collector) Response(c *service.Call, payload []byte, at int64, empty bool) {
	if !k.keep {
		return
	}
	k.mu.Lock()
	e := k.open[c.Slot]
	e.texts, e.at = append(e.texts, string(payload)), append(e.at, at)
	if empty {
		e.finals++
	}
	k.mu.Unlock()
	if k.seen != nil {
		k.seen <- clock.Now()
	}
}

func (k *collector) Done(c *service.Call) {
	if k.keep {
		k.mu.Lock()
		e := k.open[c.Slot]
		e.rec, e.err = c.Rec, c.Err
		k.ends = append(k.ends, *e)
		k.mu.Unlock()
	}
	if k.ended != nil {
		k.ended <- c
	}
	if k.left.Add(-1) < 0 {
		k.running.Done()
		return
	}
	k.send(c)
}

func (k *collector) send(c *service.Call) {
	c.Rec, c.Err = record.Record{}, nil
	if k.keep {
		k.mu.Lock()
		k.open[c.Slot] = &ended{}
		k.mu.Unlock()
	}
	k.tr.Send(c)
}

func (k *collector) run(calls []*service.Call, n int) {
	k.left.Store(int64(n - len(calls)))
	k.running.Add(len(calls))
	for _, c := range calls {
		k.send(c)
	}
	k.tr.Flush()
	k.running.Wait()
}

func target(addr string) plan.Target {
	return plan.Target{Kind: plan.OpenAI, Protocol: plan.HTTP, URL: addr, Model: "m", Endpoint: "v1/chat/completions"}
}

func newService(tb testing.TB, t plan.Target) *openai.Service {
	tb.Helper()
	s, err := openai.New(t)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func inputs(body string) service.Inputs {
	return service.Inputs{Tensors: []tensor.Tensor{{Name: "payload", Type: tensor.JSON, Shape: tensor.Shape{1}, Data: []byte(body)}}}
}

// open makes a transport with slots and a prepared call for each.
func open(tb testing.TB, s *openai.Service, body string, slots int) (*collector, []*service.Call) {
	tb.Helper()
	k := &collector{keep: true, open: map[int]*ended{}}
	tr, err := s.Open(tb.Context(), k)
	if err != nil {
		tb.Fatal(err)
	}
	k.tr = tr
	tb.Cleanup(func() { tr.Close() })
	if err := tr.Grow(tb.Context(), slots); err != nil {
		tb.Fatal(err)
	}
	req, err := s.Prepare(inputs(body))
	if err != nil {
		tb.Fatal(err)
	}
	calls := make([]*service.Call, slots)
	for i := range calls {
		calls[i] = &service.Call{Slot: i, Req: req}
	}
	return k, calls
}

// once makes one call against a talker.
func once(tb testing.TB, talk talker) ended {
	tb.Helper()
	k, calls := open(tb, newService(tb, target(serve(tb, talk))), `{"stream":true}`, 1)
	k.run(calls, 1)
	return k.ends[0]
}

// dribble writes an answer byte by byte, each in a packet of its own.
func dribble(answer string) talker {
	return func(w io.Writer, _ asked) bool {
		for _, b := range []byte(answer) {
			if _, err := w.Write([]byte{b}); err != nil {
				return false
			}
		}
		return true
	}
}

// stepper is a server's side of a stream in which each event is sent when the client has handled the one before.
type stepper struct {
	seen        chan int64 // the collector's
	sent, taken []int64    // when each event was sent, and when the client had handled it
}

// step sends an event and waits until the client has handled it. It returns false where that does not happen.
func (s *stepper) step(send func()) bool {
	s.sent = append(s.sent, clock.Now())
	send()
	select {
	case at := <-s.seen:
		s.taken = append(s.taken, at)
		return true
	case <-time.After(testkit.Limit):
		return false
	}
}

// check holds that each event has a time between its sending and its handling.
func (s *stepper) check(t *testing.T, e ended) {
	t.Helper()
	if e.err != nil || len(e.at) != len(s.taken) || len(s.taken) != len(s.sent) {
		t.Fatalf("%v: %d events sent, %d handled, %d times", e.err, len(s.sent), len(s.taken), len(e.at))
	}
	for i, at := range e.at {
		if at < s.sent[i] || at > s.taken[i] {
			t.Errorf("event %d came %s after it was sent, and was handled %s after that", i, time.Duration(at-s.sent[i]), time.Duration(s.taken[i]-s.sent[i]))
		}
	}
}
