// Package engine keeps requests in flight and gives each a record. It knows nothing of tensors, tokens or
// protocols: a Feed says what to send, a pace.Schedule says when, a service.Transport carries it.
//
// In closed loop each slot sends its next request as soon as the last one ended, or after a think time, on the goroutine
// that saw the end: no hand-off, nothing shared. In open loop one dispatcher sends each request at its due time on a
// free slot; a request that finds none, or whose time has passed, is sent as soon as possible and its
// lateness is kept in its record. Ends are written to the shard of the transport's lane and drained by one
// collector.
package engine

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// Feed fills in what the next request of one slot is: Call.Req, Vars and the record's step, sequence and flags.
type Feed interface {
	Next(c *service.Call)
}

// Closer is a Feed that may leave something open at the server, such as a sequence.
type Closer interface {
	// Close fills in one last request that ends what is open, and tells whether there was anything. The request is
	// sent beyond any limit and is not measured.
	Close(c *service.Call) bool
}

// Restarter is a Feed that can count from the beginning again.
type Restarter interface {
	Restart()
}

// Config is what an engine works with.
type Config struct {
	Service service.Service
	// Feed makes the feed of a slot, one of active slots in use. It is called again when their number changes.
	Feed func(slot, active int) Feed
	// Keep stores response times and bytes with the records, for exports.
	Keep bool
	// Timeout is the deadline of one request; 0 is none.
	Timeout time.Duration
	// Patience is how long the server may give no sign of life while requests are in flight, until the load is given up;
	// 0 is StallAfter, or Timeout where that is longer.
	Patience time.Duration
	// ThinkTime is how long a slot of a closed loop waits between two requests. Seed is what it is drawn from.
	ThinkTime pace.ThinkTime
	Seed      uint64
	// StopOnFailure makes the first failed request call the end: its slot rests, and Failed is closed. Otherwise
	// that happens when GiveUpAfter requests in a row have failed, or when for GoneAfter no connection could be made.
	StopOnFailure bool
}

// GiveUpAfter is how many requests in a row must fail for the load to be given up.
const GiveUpAfter = 100

// GoneAfter is for how long every connection must fail for the load to be given up. Attempts are further and further
// apart, so a hundred of them may take a minute.
const GoneAfter = 3 * time.Second

// Engine carries the load of one run.
type Engine struct {
	cfg Config
	tr  service.Transport

	mu     sync.Mutex // guards slots and shards while they grow
	slots  []*slot
	shards []*record.Shard
	// backlog is what the shards hold for the collector.
	backlog *record.Backlog

	// active is the number of slots in use in closed loop; generation tells slots to re-make their feeds.
	active          atomic.Int64
	generation      atomic.Int64
	closed          atomic.Bool // closed loop: an ended request is followed by the next
	stopped         atomic.Bool
	budget          atomic.Int64 // requests that may still be started; meaningful when limited
	limited         atomic.Bool
	shares          int           // threads that a limit is dealt out to; 0: it is for all
	dispatching     atomic.Bool   // a paced load is still sending
	running         atomic.Int64  // slots in flight
	wake            chan struct{} // a slot became idle
	free            freeList
	groups          *groups // of a paced load
	turns           *turns  // the same
	paced           []Feed  // the same
	tracks          int     // what the transport was told
	sent            atomic.Uint64
	scheduled       atomic.Int64 // when the schedule of a paced load began
	behind          atomic.Int64
	dropped         atomic.Uint64
	period, reached atomic.Int64 // of a periodic load: responses asked for, and requests that have had as many

	failures  failures
	failed    chan struct{} // closed at the failure that stops the load
	failOnce  sync.Once
	unbroken  atomic.Int64 // failures in a row
	refused   atomic.Int64 // since when connections fail; 0: the server was reached
	stalled   atomic.Pointer[StallError]
	watchStop context.CancelFunc
	watch     sync.WaitGroup
}

// slot is a place for one request in flight.
type slot struct {
	call       service.Call
	feed       Feed
	listener   Listener                   // the feed, where it is one
	watcher    Watcher                    // the same
	pause      atomic.Pointer[time.Timer] // the latest pause between two requests
	think      func() time.Duration       // draws the next think time; nil: there is none
	ready      int64                      // when the think time before the next request ends; 0: there is none
	turn       int                        // the feed of a paced load that the request in flight came from
	answers    int64                      // responses so far, in a periodic load
	generation int64
	quota      atomic.Pointer[atomic.Int64] // what its thread may still send; nil: see the engine's budget
	shard      *record.Shard
	since      atomic.Int64 // when the request in flight was sent; 0 is idle, see also paused
	sign       atomic.Int64 // when the server last gave a sign of life on this slot
	due        atomic.Int64 // due time of the request in flight; 0 if it is not part of the load
	cutting    atomic.Bool  // a request is being cut: the next one must not be sent before that is done
	events     []record.Event
	data       []byte
}

// Open connects the engine to its service. Close must be called.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	e := &Engine{cfg: cfg, backlog: record.NewBacklog(), wake: make(chan struct{}, 1), failed: make(chan struct{})}
	tr, err := cfg.Service.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	e.tr = tr
	wctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.watchStop = cancel
	e.watch.Go(func() { e.watchStall(wctx) })
	if cfg.Timeout > 0 {
		e.watch.Go(func() { e.watchDeadlines(wctx) })
	}
	return e, nil
}

// Close cuts what is in flight and frees everything.
func (e *Engine) Close() error {
	e.Stop()
	e.watchStop()
	e.watch.Wait()
	return e.tr.Close()
}

// grow makes n slots usable.
func (e *Engine) grow(ctx context.Context, n int) error {
	if err := e.tr.Grow(ctx, n); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.slots); i < n; i++ {
		lane := e.tr.Lane(i)
		for len(e.shards) <= lane {
			e.shards = append(e.shards, record.NewShard(e.cfg.Keep, e.backlog))
		}
		s := &slot{shard: e.shards[lane], generation: -1, think: e.cfg.ThinkTime.Slot(e.cfg.Seed, i)}
		s.call.Slot, s.call.Owner = i, s
		e.slots = append(e.slots, s)
	}
	return nil
}

// Drain calls fn for every record that ended since the last Drain. Only one goroutine may call it.
func (e *Engine) Drain(fn func(r *record.Record, events []record.Event, data []byte)) {
	e.mu.Lock()
	shards := e.shards
	e.mu.Unlock()
	for _, s := range shards {
		s.Drain(fn)
	}
}

// collectEvery is how often CollectUntil collects records where they do not call for it themselves.
const collectEvery = 50 * time.Millisecond

// CollectUntil calls wait, and calls collect repeatedly until wait returns, then once more. The memory for records is bounded,
// so a load stops when its records are not collected. collect runs on the goroutine of the caller.
func (e *Engine) CollectUntil(collect func(), wait func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- wait() }()
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			collect()
			return err
		case <-e.backlog.Full():
		case <-tick.C:
		}
		collect()
	}
}

// Stop starts nothing more. Requests in flight go on.
func (e *Engine) Stop() {
	e.stopped.Store(true)
	e.endPauses()
}

// Wait blocks until nothing is in flight, or until ctx ends; then it cuts the rest and waits for their ends.
func (e *Engine) Wait(ctx context.Context) error {
	for e.running.Load() > 0 {
		if e.sleep(ctx, restful) != nil {
			e.cutAll(record.Canceled)
			e.settle(context.WithoutCancel(ctx))
			return ctx.Err()
		}
	}
	return nil
}

// Finished blocks until a load with a limit has ended by itself, a failure has stopped it, or ctx ends.
func (e *Engine) Finished(ctx context.Context) error {
	for e.dispatching.Load() || e.running.Load() > 0 {
		if err := e.sleep(ctx, restful); err != nil {
			return err
		}
	}
	return nil
}

// restful is how long those sleep at most who wait for the end of a load, which may take minutes: waking up costs
// the load itself.
const restful = 20 * time.Millisecond

// pause waits a moment for a slot to become idle.
func (e *Engine) pause(ctx context.Context) error { return e.sleep(ctx, 2*time.Millisecond) }

// sleep waits for a slot to become idle. Several may wait, and one signal wakes one of them, so each looks again
// after a while by itself.
func (e *Engine) sleep(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-e.wake:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// settle waits a moment for cut requests to report their ends.
func (e *Engine) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for e.running.Load() > 0 && e.pause(ctx) == nil {
	}
}

func (e *Engine) cutAll(class record.Class) {
	for _, s := range e.snapshot() {
		if s.since.Load() > 0 {
			e.tr.Cut(s.call.Slot, class)
		}
	}
}

// paused stands in place of a send time: the slot is at work, but nothing is in flight that could be cut.
const paused = -1

// cutSince cuts the request that was sent at the given time, and never the one after it: the next one either has set
// its time, and nothing is cut, or it sees that a request is being cut, and waits.
func (e *Engine) cutSince(s *slot, since int64, class record.Class) {
	s.cutting.Store(true)
	if s.since.Load() == since {
		e.tr.Cut(s.call.Slot, class)
	}
	s.cutting.Store(false)
}

// begin notes that a request is about to be sent. due is 0 for a request that is not part of the load.
func (s *slot) begin(due, now int64) {
	s.due.Store(due)
	s.since.Store(now)
	for s.cutting.Load() {
		runtime.Gosched()
	}
}

func (e *Engine) snapshot() []*slot {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.slots
}

// Keeps tells whether response bytes are kept with the records. A transport that would have to gather them asks.
func (e *Engine) Keeps() bool { return e.cfg.Keep }

// InFlight is the number of requests on the wire. A slot that pauses between two requests has none.
func (e *Engine) InFlight() int {
	n := 0
	for _, s := range e.snapshot() {
		if s.since.Load() > 0 {
			n++
		}
	}
	return n
}

// Working tells whether anything is in flight or will yet be sent: false once every slot, or every thread of a paced
// load, rests after a failure.
func (e *Engine) Working() bool {
	return e.running.Load() > 0 || e.dispatching.Load() && e.groups.left.Load() > 0
}

// Sent is the number of requests started since the engine was opened.
func (e *Engine) Sent() uint64 { return e.sent.Load() }

// Behind is how long, all in all, a due request was waiting to be sent.
func (e *Engine) Behind() time.Duration { return time.Duration(e.behind.Load()) }

// Dropped is the number of requests that were due and had not been sent when their load was stopped.
func (e *Engine) Dropped() uint64 { return e.dropped.Load() }

// Full calls for Drain before its usual time: many records wait.
func (e *Engine) Full() <-chan struct{} { return e.backlog.Full() }

// Stalled is how long ends of requests waited, all in all, because records were not collected fast enough.
func (e *Engine) Stalled() time.Duration { return e.backlog.Stalled() }

// Failed is closed when failures call for the end of the load.
func (e *Engine) Failed() <-chan struct{} { return e.failed }

// Forgive forgets the failures so far, and the end that they called for. Nothing may be in flight.
func (e *Engine) Forgive() {
	e.failures.clear()
	e.unbroken.Store(0)
	e.refused.Store(0)
	e.failed, e.failOnce = make(chan struct{}), sync.Once{}
}

// Restart has the feeds and think times begin again: what follows is another run, as the measured part is after its
// warm-up. Nothing may be in flight.
func (e *Engine) Restart() {
	feeds := e.paced
	for _, s := range e.snapshot() {
		feeds = append(feeds, s.feed)
		s.think = e.cfg.ThinkTime.Slot(e.cfg.Seed, s.call.Slot)
	}
	for _, f := range feeds {
		if r, ok := f.(Restarter); ok {
			r.Restart()
		}
	}
	if e.turns != nil {
		e.turns.draws = nil
	}
	if r, ok := e.tr.(service.Renewer); ok {
		r.Renew()
	}
}

// Failures are the failed requests so far, grouped.
func (e *Engine) Failures() []Failure { return e.failures.list() }

// SlotErrors are the first failures of each slot that had one.
func (e *Engine) SlotErrors() []SlotError { return e.failures.slots() }

// watchDeadlines cuts requests that are older than the deadline. One look over the slots every so often is far
// cheaper than a timer a request.
func (e *Engine) watchDeadlines(ctx context.Context) {
	tick := time.NewTicker(max(e.cfg.Timeout/20, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		oldest := clock.Now() - int64(e.cfg.Timeout)
		for _, s := range e.snapshot() {
			if since := s.since.Load(); since > 0 && since < oldest {
				e.cutSince(s, since, record.Timeout)
			}
		}
	}
}
