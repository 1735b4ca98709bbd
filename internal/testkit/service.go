// Package testkit holds what several packages' tests need: a service without a network whose answers come when
// the test says so.
package testkit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/tensor"
)

// Service answers every request after the time that Answer returns, on a goroutine per slot.
type Service struct {
	// Answer says what happens to the n-th request (from 0): how long it takes, and its failure if any.
	Answer func(n int64) (time.Duration, error)
	// Stream says how many responses the n-th request gets, one after each wait, and whether an empty final response
	// follows them. Nil is one response and no empty one.
	Stream func(n int64) (responses int, emptyFinal bool)
	// Ended is told the record of each request that ended, before the client is. It may be nil.
	Ended func(r record.Record)
	// Counters are what Stats returns; nil makes up counters from the requests answered.
	Counters func() []service.ModelStats

	sent atomic.Int64
	done atomic.Int64
	// now and most are the number in flight, and the highest it ever was.
	now, most atomic.Int64
}

var _ service.Service = (*Service)(nil)

// Sent is the number of requests sent so far.
func (s *Service) Sent() int64 { return s.sent.Load() }

// MostInFlight is the highest number of requests that were in flight at once.
func (s *Service) MostInFlight() int64 { return s.most.Load() }

// Describe returns a model with statistics.
func (s *Service) Describe(context.Context) (*service.Model, error) {
	return &service.Model{Name: "fake", MaxBatch: 8, Statistics: true}, nil
}

// Prepare accepts anything.
func (s *Service) Prepare(in service.Inputs) (service.Request, error) { return in.Step, nil }

// Outputs returns the payload as one BYTES tensor.
func (s *Service) Outputs(payload []byte) ([]tensor.Tensor, error) {
	return []tensor.Tensor{{Name: "OUT", Type: tensor.Bytes, Data: payload}}, nil
}

// Close does nothing.
func (s *Service) Close() error { return nil }

// Stats counts each answered request as one inference of a microsecond in each phase.
func (s *Service) Stats(context.Context) ([]service.ModelStats, error) {
	if s.Counters != nil {
		return s.Counters(), nil
	}
	n := uint64(s.done.Load())
	t := service.Tally{Count: n, Ns: n * 1000}
	return []service.ModelStats{{
		Name: "fake", Version: "1", InferenceCount: n, ExecutionCount: n,
		Success: service.Tally{Count: n, Ns: n * 5000}, Queue: t, ComputeInput: t, ComputeInfer: t, ComputeOutput: t,
	}}, nil
}

// Open makes a transport.
func (s *Service) Open(_ context.Context, sink service.Sink) (service.Transport, error) {
	return &transport{svc: s, sink: sink}, nil
}

type transport struct {
	svc  *Service
	sink service.Sink
	mu   sync.Mutex
	all  []*lane
	wg   sync.WaitGroup
}

type lane struct {
	calls chan *service.Call
	cut   chan record.Class // of the call in flight

	mu     sync.Mutex
	flying bool // a call was sent and has not ended
	closed bool // no more calls are taken
}

// begin puts a call in flight. A lane that is closed drops it.
func (l *lane) begin(c *service.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.flying = true
		l.calls <- c // has room: a slot has one call in flight
	}
}

func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	close(l.calls)
}

// end notes that the call in flight has ended. A cut that came too late must not hit the next call.
func (l *lane) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flying = false
	select {
	case <-l.cut:
	default:
	}
}

// cutAs cuts the call in flight, if there is one.
func (l *lane) cutAs(class record.Class) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.flying {
		return
	}
	select {
	case l.cut <- class:
	default:
	}
}

func (t *transport) Grow(_ context.Context, n int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.all) < n {
		l := &lane{calls: make(chan *service.Call, 1), cut: make(chan record.Class, 1)}
		t.all = append(t.all, l)
		t.wg.Go(func() { t.serve(l) })
	}
	return nil
}

func (t *transport) lane(slot int) *lane {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[slot]
}

func (t *transport) Send(c *service.Call) {
	now := clock.Now()
	c.Rec.Sent, c.Rec.Written = now, now
	t.lane(c.Slot).begin(c)
}

func (t *transport) Flush() {}

func (t *transport) Lane(slot int) int { return slot }

func (t *transport) Cut(slot int, class record.Class) { t.lane(slot).cutAs(class) }

func (t *transport) Close() error {
	t.mu.Lock()
	for _, l := range t.all {
		l.close()
	}
	t.mu.Unlock()
	t.wg.Wait()
	return nil
}

func (t *transport) serve(l *lane) {
	for c := range l.calls {
		n := t.svc.sent.Add(1) - 1
		flying := t.svc.now.Add(1)
		for most := t.svc.most.Load(); flying > most && !t.svc.most.CompareAndSwap(most, flying); most = t.svc.most.Load() {
		}
		t.answer(c, l, n)
		t.svc.now.Add(-1)
		t.svc.done.Add(1)
		if t.svc.Ended != nil {
			r := c.Rec
			r.Slot = uint32(c.Slot)
			t.svc.Ended(r)
		}
		l.end()
		t.sink.Done(c)
	}
}

// answer answers request n, or cuts it.
func (t *transport) answer(c *service.Call, l *lane, n int64) {
	wait, err := time.Millisecond, error(nil)
	if t.svc.Answer != nil {
		wait, err = t.svc.Answer(n)
	}
	responses, emptyFinal := 1, false
	if t.svc.Stream != nil {
		responses, emptyFinal = t.svc.Stream(n)
	}
	for left := max(responses, 1); left > 0; left-- {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case class := <-l.cut:
			timer.Stop()
			t.stamp(c, class)
			c.Err = err
			return
		}
		if err != nil && left == 1 {
			t.stamp(c, record.Server)
			c.Err = err
			return
		}
		t.stamp(c, record.OK)
		if responses > 0 {
			c.Rec.Responses++
			t.sink.Response(c, []byte("ok"), c.Rec.End, false)
		}
	}
	if emptyFinal {
		t.sink.Response(c, nil, c.Rec.End, true)
	}
}

// stamp notes that something of the answer came now, and how the request stands.
func (t *transport) stamp(c *service.Call, class record.Class) {
	c.Rec.End, c.Rec.Class = clock.Now(), class
	if c.Rec.First == 0 {
		c.Rec.First = c.Rec.End
	}
}

// Source sends step 0. N counts the requests; it may be nil.
type Source struct{ N *atomic.Int64 }

// Next fills in a call.
func (f Source) Next(c *service.Call) {
	if f.N != nil {
		f.N.Add(1)
	}
	c.Req, c.Rec.Step = uint32(0), 0
}
