package httppool

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/traceid"
	"github.com/redline-bench/redline/internal/wire/h1"
)

// dialers is how many connections are made at the same time: enough to hide the network's latency, few
// enough not to overflow a server's queue of unaccepted ones.
const dialers = 64

var errClosed = errors.New("the transport is closed")

var _ service.Transport = (*Transport)(nil)

// Transport is a growing row of slots.
type Transport struct {
	cfg      h1.Config
	sink     service.Sink
	exchange func() Exchange
	tracing  *traceid.Sampler
	lazy     bool
	backoff  func(refusals int) time.Duration
	closing  chan struct{} // closed by Close
	once     sync.Once
	wg       sync.WaitGroup

	mu    sync.Mutex // held by Grow and Close
	slots atomic.Pointer[[]*slot]
	loops []*h1.Loop
}

// New makes a transport without slots. exchange is called once for each slot.
func New(cfg h1.Config, sink service.Sink, exchange func() Exchange) *Transport {
	t := &Transport{cfg: cfg, sink: sink, exchange: exchange, backoff: service.Backoff, closing: make(chan struct{})}
	t.slots.Store(&[]*slot{})
	return t
}

// Trace gives the requests that s chooses a traceparent. It is called before the first Grow.
func (t *Transport) Trace(s *traceid.Sampler) { t.tracing = s }

// DialLazily lets Grow ignore dial errors, where it is on. Each request dials again and reports the error itself.
func (t *Transport) DialLazily(on bool) { t.lazy = on }

func (t *Transport) closed() bool {
	select {
	case <-t.closing:
		return true
	default:
		return false
	}
}

// Grow connects slots up to n. All of them exist afterwards, also after an error: those without a connection
// try again when they are used.
func (t *Transport) Grow(ctx context.Context, n int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := *t.slots.Load()
	if t.closed() {
		return errClosed
	}
	if n <= len(old) {
		return nil
	}
	t.cfg.Budget.Requests(n)
	dialing, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // Close does not wait for connections that are still being made
		select {
		case <-t.closing:
			cancel()
		case <-dialing.Done():
		}
	}()
	slots := append(make([]*slot, 0, n), old...)
	turn := make(chan struct{}, dialers)
	errs := make(chan error, n-len(old))
	for range n - len(old) {
		s := newSlot(t, len(slots))
		slots = append(slots, s)
		t.wg.Go(func() {
			turn <- struct{}{}
			conn, err := s.dial(dialing)
			<-turn
			if conn != nil {
				s.conn.Store(conn)
			}
			errs <- err
			s.run(context.WithoutCancel(ctx)) // a slot lives until Close
		})
	}
	t.slots.Store(&slots)
	var first error
	for range n - len(old) {
		if err := <-errs; err != nil && first == nil {
			first = Failure(service.OpConnect, t.cfg.Addr, err)
		}
	}
	if t.lazy && ctx.Err() == nil {
		return nil
	}
	return first
}

// loopOf gives the loop of a slot; there is one for each core. Without a loop the slot's goroutine reads by itself, which is
// slower.
func (t *Transport) loopOf(slot int) *h1.Loop {
	cores := runtime.GOMAXPROCS(0)
	if len(t.loops) < min(slot+1, cores) {
		loop, err := h1.NewLoop()
		if err != nil {
			return nil
		}
		t.loops = append(t.loops, loop)
	}
	return t.loops[slot%len(t.loops)]
}

func (t *Transport) slot(i int) *slot { return (*t.slots.Load())[i] }

// Send writes the request at once where there is a connection, and leaves it to the slot's goroutine where not.
func (t *Transport) Send(c *service.Call) { t.slot(c.Slot).send(c) }

// Flush has nothing to do: each slot has its own connection, so there is nothing to gather.
func (t *Transport) Flush() {}

// Cut ends the call in flight on a slot.
func (t *Transport) Cut(i int, class record.Class) { t.slot(i).cut(class) }

// Lane is the slot itself.
func (t *Transport) Lane(slot int) int { return slot }

// Close cuts all calls and waits for the slots to end.
func (t *Transport) Close() error {
	t.once.Do(func() { close(t.closing) })
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range *t.slots.Load() {
		s.cut(record.Canceled)
		s.interrupt()
	}
	t.wg.Wait()
	for _, l := range t.loops {
		_ = l.Close() // it serves nothing any more
	}
	t.loops = nil
	return nil
}
