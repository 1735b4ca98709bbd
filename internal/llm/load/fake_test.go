package load_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/llm/endpoint"
	"github.com/redline-bench/redline/internal/llm/load"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
	"github.com/redline-bench/redline/internal/testkit"
)

// server is a service without a network: it streams chat chunks at a pace.
type server struct {
	first, gap time.Duration
	tokens     int
	// connections is how many can be opened; 0 is no limit.
	connections int
	// shared is the number of connections that carry many requests each, and work half of the time; 0: each request has its own.
	shared int
	// answer, when set, stands in for the stream of request n: its events and its failure.
	answer func(n int64, body string) ([]string, *service.Error)

	sent                    atomic.Int64
	flying, most            atomic.Int64
	prefilling, mostPrefill atomic.Int64
	mu                      sync.Mutex
	bodies                  []string
	ended                   map[string]uint64 // by class; nil counts nothing
}

// ends is the server's count of ends.
func (s *server) ends() map[string]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

func (s *server) end(class record.Class) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		s.ended[class.String()]++
	}
}

func (s *server) Describe(context.Context) (*service.Model, error) {
	return &service.Model{Name: "m"}, nil
}

func (s *server) Prepare(in service.Inputs) (service.Request, error) {
	return string(in.Tensors[0].Data), nil
}
func (s *server) Outputs([]byte) ([]tensor.Tensor, error) { return nil, nil }
func (s *server) Close() error                            { return nil }
func (s *server) Open(_ context.Context, sink service.Sink) (service.Transport, error) {
	return &wire{s: s, sink: sink, opened: clock.Now()}, nil
}

type wire struct {
	s    *server
	sink service.Sink
	mu   sync.Mutex
	cuts []chan record.Class
	wg   sync.WaitGroup

	opened int64
}

// Connections implements service.Multiplexer.
func (w *wire) Connections() (n int, busiest time.Duration) {
	return w.s.shared, time.Duration(clock.Now()-w.opened) / 2
}

func (w *wire) Grow(_ context.Context, n int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if most := w.s.connections; most > 0 && n > most {
		return errors.New("no more connections")
	}
	for len(w.cuts) < n {
		w.cuts = append(w.cuts, make(chan record.Class, 1))
	}
	return nil
}

func (w *wire) Send(c *service.Call) {
	w.mu.Lock()
	cut := w.cuts[c.Slot]
	w.mu.Unlock()
	select {
	case <-cut: // meant for an earlier call
	default:
	}
	n := w.s.sent.Add(1) - 1
	c.Rec.Sent = clock.Now()
	c.Rec.Written = c.Rec.Sent
	body := c.Req.(string)
	w.s.mu.Lock()
	w.s.bodies = append(w.s.bodies, body)
	w.s.mu.Unlock()
	raise(&w.s.flying, &w.s.most)
	raise(&w.s.prefilling, &w.s.mostPrefill)
	w.wg.Go(func() { w.serve(c, n, body, cut) })
}

func raise(now, most *atomic.Int64) {
	n := now.Add(1)
	for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
	}
}

func (w *wire) serve(c *service.Call, n int64, body string, cut chan record.Class) {
	events := make([]string, 0, w.s.tokens+1)
	for i := range w.s.tokens {
		events = append(events, token(fmt.Sprintf("t%d ", i)))
	}
	events = append(events, usage(3, w.s.tokens), "data: [DONE]\n\n")
	var failure *service.Error
	if w.s.answer != nil {
		events, failure = w.s.answer(n, body)
	}
	begun := false
	for i, e := range events {
		wait := w.s.gap
		if i == 0 {
			wait = w.s.first
		}
		select {
		case <-time.After(wait):
		case class := <-cut:
			failure = &service.Error{Class: class}
		}
		if failure != nil && failure.Class == record.Canceled || failure != nil && failure.Class == record.Timeout {
			break
		}
		if !begun {
			begun = true
			w.s.prefilling.Add(-1)
			c.Rec.First = clock.Now()
		}
		c.Rec.End = clock.Now()
		c.Rec.Responses++
		w.sink.Response(c, []byte(e), c.Rec.End, e == "data: [DONE]\n\n")
	}
	if !begun {
		w.s.prefilling.Add(-1)
	}
	w.s.flying.Add(-1)
	c.Rec.End = max(c.Rec.End, c.Rec.Sent)
	if failure != nil {
		c.Rec.Class, c.Err, c.Rec.End = failure.Class, failure, clock.Now()
	}
	w.s.end(c.Rec.Class)
	w.sink.Done(c)
}

func (w *wire) Flush() {}
func (w *wire) Cut(slot int, class record.Class) {
	w.mu.Lock()
	cut := w.cuts[slot]
	w.mu.Unlock()
	select {
	case cut <- class:
	default:
	}
}
func (w *wire) Lane(slot int) int { return slot }
func (w *wire) Close() error {
	w.mu.Lock()
	cuts := w.cuts
	w.mu.Unlock()
	for i := range cuts {
		w.Cut(i, record.Canceled)
	}
	w.wg.Wait()
	return nil
}

func token(text string) string {
	return `data: {"choices":[{"delta":{"content":"` + text + `"}}]}` + "\n\n"
}

func usage(prompt, completion int) string {
	return fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`+"\n\n", prompt, completion)
}

// prompts is a source of so many conversations; -1 never ends.
type prompts struct {
	left, n int
	turns   []llm.Turn
}

func (p *prompts) Next() (*llm.Conversation, bool) {
	if p.left == 0 {
		return nil, false
	}
	p.left--
	p.n++
	c := &llm.Conversation{ID: fmt.Sprintf("c%d", p.n), Turns: append([]llm.Turn(nil), p.turns...)}
	if len(c.Turns) == 0 {
		c.Turns = []llm.Turn{{Texts: []string{"hello"}, MaxTokens: 4}}
	}
	return c, true
}
func (p *prompts) Err() error   { return nil }
func (p *prompts) Close() error { return nil }

// config is a load of so many conversations on the server.
func config(t *testing.T, s *server, count int, turns ...llm.Turn) load.Config {
	t.Helper()
	e, err := endpoint.New(endpoint.Options{Kind: endpoint.Chat, Model: "m", Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	return load.Config{
		Service: s, Endpoint: e, Options: load.Options{Grace: 10 * time.Second},
		Open: func() (load.Source, error) { return &prompts{left: count, turns: turns}, nil },
	}
}

// run carries out a level in simulated time, one hour at most.
func runLevel(t *testing.T, cfg load.Config, lv load.Level) (out *load.Outcome) {
	t.Helper()
	testkit.Simulate(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var err error
		if out, err = load.Run(ctx, ctx, cfg, lv); err != nil {
			t.Fatal(err)
		}
	})
	return out
}
