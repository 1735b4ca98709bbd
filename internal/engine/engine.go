// Package engine keeps requests in flight and gives each a record. It knows nothing of tensors, tokens or protocols: a
// Source fills in each request, a Loop decides when a slot sends, a service.Transport carries the requests.
//
// Each Loop has a file of its own:
//
//   - Closed keeps a number of requests in flight. A slot sends its next request when the last one has ended, on the
//     goroutine that saw the end: nothing is handed over, and slots share nothing.
//   - Paced sends each request at its due time on a free slot. A request that finds no free slot, or whose due time has
//     passed, is sent as soon as possible, and its record keeps the send lag.
//   - Periodic raises the number of streamed requests in flight step by step.
//
// When a request ends, Done writes its record to the shard of the transport's goroutine, counts a failure, and hands the
// slot to the loop. The engine collects the records itself and passes them to Config.Collect.
package engine

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/minstd"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
)

// Config is what an engine works with.
type Config struct {
	Service service.Service
	// Source makes source i of n. A closed loop has one source per slot and asks again when the number of slots changes. n
	// counts the sources of other processes too, where the loop names the size of the whole load.
	Source func(i, n int) Source
	// Collect receives each record, with its responses where Keep is set. They are valid until it returns. It is called
	// by one goroutine at a time, see Sync. Nil drops the records.
	Collect func(r *record.Record, events []record.Event, data []byte)
	// Keep stores response times and bytes with the records, for exports.
	Keep bool
	// Timeout is the deadline of one request; 0 is none.
	Timeout time.Duration
	// Patience is how long the server may give no sign of life while requests are in flight. Then the load is given up.
	// 0 is StallAfter, or Timeout if that is longer.
	Patience time.Duration
	// ThinkTime is how long a slot of a closed loop waits between two requests. It is drawn from Seed, for each slot by the
	// number that the slot has in the whole load; Segment is the part of that load.
	ThinkTime pace.ThinkTime
	Seed      uint64
	Segment   segment.Segment
	// StopOnFailure closes Failed at the first failed request, and the worker of that request sends nothing more.
	// Otherwise that happens when GiveUpAfter requests in a row have failed, or when every connection failed for GoneAfter.
	StopOnFailure bool
}

// Loop is one way to make load. An engine runs one loop at a time, and a loop is started once.
type Loop interface {
	// prepare makes the slots that the loop needs at first. Nothing is sent yet.
	prepare(ctx context.Context, e *Engine) error
	// begin sends the first requests and returns. Requests that the loop starts by itself, not in ended, are sent from a
	// function given to Engine.spawn; that function must return soon after ctx ends.
	begin(ctx context.Context)
	// ended is called on the transport's goroutine when a request of a slot has ended and its record is written. The loop
	// sends the slot's next request or parks the slot. stop means that failures have ended the load of the slot's worker.
	ended(s *slot, stop bool)
}

// running is the loop of the current load, or of the last one.
type running struct {
	loop   Loop
	cancel context.CancelFunc
}

// Engine carries the load of one run.
type Engine struct {
	cfg Config
	tr  service.Transport

	mu      sync.Mutex // guards the three lists while they grow
	slots   []*slot
	shards  []*record.Shard
	sources []Source // the latest source of each index

	tracks int             // what the transport was told; 0 is nothing
	draws  []minstd.Source // random generators, one per worker; the next load continues them

	current    atomic.Pointer[running]
	background sync.WaitGroup // functions given to spawn
	sending    atomic.Int64   // how many of them have not returned
	active     atomic.Int64   // slots that are not parked
	stopped    atomic.Bool    // nothing more is sent
	wake       chan struct{}  // a slot was parked, or spawn has ended

	collector collector
	failures  failures
	watchers  watchers

	scheduled atomic.Int64 // when the schedule of a paced load began
	behind    atomic.Int64
	dropped   atomic.Uint64
}

// Open connects the engine to its service. Close must be called.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	e := &Engine{cfg: cfg, wake: make(chan struct{}, 1)}
	e.failures.reset()
	tr, err := cfg.Service.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	e.tr = tr
	e.startCollector()
	e.startWatchers(context.WithoutCancel(ctx))
	return e, nil
}

// Close cancels the requests in flight, collects their records and frees everything.
func (e *Engine) Close() error {
	e.Stop()
	e.watchers.stop()
	err := e.tr.Close() // waits for ends of requests, which may wait for the collector
	e.stopCollector()
	return err
}

// Start begins a load and ends the one before. A Closed loop may follow another Closed loop that has requests in flight.
// Before any other change of the loop nothing may be in flight.
func (e *Engine) Start(ctx context.Context, l Loop) error {
	return e.StartWhen(ctx, l, func(context.Context) (int64, error) { return clock.Now(), nil })
}

// StartWhen is Start at a time that is known only when the slots of the loop are made: begin is asked for it then. Due times of a
// Paced loop count from that time.
func (e *Engine) StartWhen(ctx context.Context, l Loop, begin func(context.Context) (int64, error)) error {
	if last := e.current.Load(); last != nil {
		last.cancel()
		e.background.Wait()
	}
	if err := l.prepare(ctx, e); err != nil {
		return err
	}
	at, err := begin(ctx)
	if err != nil {
		return err
	}
	if p, ok := l.(*Paced); ok {
		p.Begin = cmp.Or(p.Begin, at)
	} else if at > clock.Now() && !clock.SleepUntil(ctx, at) {
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	e.stopped.Store(false)
	e.current.Store(&running{loop: l, cancel: cancel})
	l.begin(ctx)
	return nil
}

// spawn runs the part of a loop that starts requests by itself.
func (e *Engine) spawn(send func()) {
	e.sending.Add(1)
	e.background.Go(func() {
		send()
		e.sending.Add(-1)
		e.notify()
	})
}

// Stop ends the load: nothing more is sent. Requests in flight go on.
func (e *Engine) Stop() {
	e.halt()
	e.background.Wait()
}

// halt is Stop without the wait for the loop.
func (e *Engine) halt() {
	e.stopped.Store(true)
	if r := e.current.Load(); r != nil {
		r.cancel()
	}
	e.endPauses()
}

// Working tells whether a request is in flight or will yet be sent. It is false once failures have stopped every worker.
func (e *Engine) Working() bool {
	return e.sending.Load() > 0 || e.active.Load() > 0 // in this order: spawn makes slots active before it returns
}

// Finished blocks until the load has ended: by its limit, by failures or by Stop. It returns early when ctx ends.
func (e *Engine) Finished(ctx context.Context) error {
	for e.Working() {
		if err := e.sleep(ctx, drainPollInterval); err != nil {
			return err
		}
	}
	return nil
}

// Wait blocks until the load has ended, or until ctx ends. Then it cancels the requests in flight and waits for their ends.
func (e *Engine) Wait(ctx context.Context) error {
	err := e.Finished(ctx)
	if err != nil {
		e.Cancel(ctx)
	}
	return err
}

// Cancel cancels the requests in flight and waits for their ends, also if ctx has ended.
func (e *Engine) Cancel(ctx context.Context) {
	for _, s := range e.snapshot() {
		e.Cut(s.call.Slot, s.sequence.Load(), record.Canceled)
	}
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	for e.Working() && e.sleep(settle, slotPollInterval) == nil {
	}
}

const (
	// drainPollInterval limits how often we check whether the load has ended; checking costs the load CPU.
	drainPollInterval = 20 * time.Millisecond
	// slotPollInterval is the same where the end is near.
	slotPollInterval = 2 * time.Millisecond
	// settleTime is how long canceled requests may take to report their ends.
	settleTime = time.Second
)

// sleep waits for a slot to be parked, for at most the given time: one signal wakes only one of several waiters.
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

func (e *Engine) notify() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Sent is the number of requests that the loops have sent since the engine was opened. Requests that only close a sequence
// are not counted.
func (e *Engine) Sent() uint64 {
	var n uint64
	for _, s := range e.snapshot() {
		n += s.sequence.Load() - s.closings.Load()
	}
	return n
}

// Connections returns the number of connections that carry many calls at once, and how long the busiest of them has worked until
// now; 0 if each call has a connection of its own.
func (e *Engine) Connections() (n int, busiest time.Duration) {
	if m, ok := e.tr.(service.Multiplexer); ok {
		return m.Connections()
	}
	return 0, 0
}

// Behind is the time in which paced loads had a due request that was not sent yet.
func (e *Engine) Behind() time.Duration { return time.Duration(e.behind.Load()) }

// Dropped is the number of requests that were due and not sent when their load was stopped.
func (e *Engine) Dropped() uint64 { return e.dropped.Load() }

// Scheduled is when the schedule of the latest paced load began: its request n is due at Scheduled plus offset n.
func (e *Engine) Scheduled() int64 { return e.scheduled.Load() }

// Keeps tells a transport whether response bytes are kept with the records.
func (e *Engine) Keeps() bool { return e.cfg.Keep }

// makeSource makes source i of n.
func (e *Engine) makeSource(i, n int) Source {
	src := e.cfg.Source(i, n)
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.sources) <= i {
		e.sources = append(e.sources, nil)
	}
	e.sources[i] = src
	return src
}

// thinkTime draws the think times of a slot.
func (e *Engine) thinkTime(slot int) func() time.Duration {
	return e.cfg.ThinkTime.Slot(e.cfg.Seed, e.cfg.Segment.Number(slot))
}

// Restart resets sources, think times and random orders, so that the next load is as the first one. It is called between a
// warm-up and the measurement. Nothing may be in flight.
func (e *Engine) Restart() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, src := range e.sources {
		if r, ok := src.(Restarter); ok {
			r.Restart()
		}
	}
	for _, s := range e.slots {
		s.think = e.thinkTime(s.call.Slot)
	}
	e.draws = nil
	if r, ok := e.tr.(service.Renewer); ok {
		r.Renew()
	}
}
