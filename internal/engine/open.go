package engine

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/record"
)

// DelayedAfter is how late a send may be before it is marked as delayed.
const DelayedAfter = time.Millisecond

// closeTime is how long the requests of open sequences may take to end before their closing requests are sent.
const closeTime = 5 * time.Second

// flushEvery bounds how many late sends are gathered before they are pushed out.
const flushEvery = 16

// PacedLoad is an open-loop load.
type PacedLoad struct {
	Schedule pace.Schedule
	// Feeds is how many feeds take turns, and Turn in which order.
	Feeds int
	Turn  Turn
	Seed  uint64 // of random turns
	// Threads is how many groups the feeds form, each of as many neighbors; 0 is one a feed. Where a failed request
	// ends the run, the group of its feed sends nothing more, and the failure counts as the group's.
	Threads int
	// Slots is how many slots to begin with. Cap is the most that may be in flight; more due requests wait.
	Slots, Cap int
	// Limit ends the load after so many requests; 0 is none.
	Limit int
}

// Turn is the order in which feeds are used.
type Turn uint8

// The orders.
const (
	RoundRobin Turn = iota // request n uses feed n mod Feeds
	Random                 // each request uses any feed
	Serial                 // a feed is used again when its last request has ended, the longest idle first
)

// Paced sends requests at their due times until the schedule ends, the limit is reached, or stop is called,
// which waits for the dispatcher but not for what is in flight. Nothing may be in flight when it is called.
func (e *Engine) Paced(ctx context.Context, load PacedLoad) (stop func(), err error) {
	if err := e.grow(ctx, load.Slots); err != nil {
		return nil, err
	}
	e.closed.Store(false)
	e.stopped.Store(false)
	e.free.reset(e.snapshot())
	d := &dispatcher{e: e, load: load, feeds: make([]Feed, load.Feeds), rng: rand.New(rand.NewPCG(load.Seed, 1))}
	for i := range d.feeds {
		d.feeds[i] = e.cfg.Feed(i, load.Feeds)
	}
	e.groups = newGroups(load.Feeds, load.Threads)
	e.idleFeeds = nil
	if load.Turn == Serial {
		e.idleFeeds = make(chan int, load.Feeds)
		for i := range d.feeds {
			e.idleFeeds <- i
		}
	}
	e.dispatching.Store(true)
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		d.run(ctx)
		d.closeFeeds(context.WithoutCancel(ctx))
		d.grown.Wait()
		e.dispatching.Store(false)
		e.notify()
	})
	return func() {
		e.Stop()
		cancel()
		done.Wait()
	}, nil
}

type dispatcher struct {
	e        *Engine
	load     PacedLoad
	start    int64
	feeds    []Feed
	n        int
	ungiven  int // sends since the last flush
	lastSent int64
	rng      *rand.Rand
	growing  sync.Mutex
	grown    sync.WaitGroup
	full     atomic.Bool // no more slots can be made
}

func (d *dispatcher) run(ctx context.Context) {
	defer d.e.tr.Flush()
	d.start = clock.Now()
	for d.load.Limit == 0 || d.n < d.load.Limit {
		offset, ok := d.load.Schedule.Next()
		if !ok {
			return
		}
		due := d.start + int64(offset)
		if d.e.stopped.Load() {
			d.drop(due)
			return
		}
		if due > clock.Now() {
			d.flush()
			if !clock.SleepUntil(ctx, due) {
				return
			}
		}
		feed, ok := d.turn(ctx)
		if !ok {
			d.drop(due)
			return
		}
		if d.e.groups.ended(feed) {
			if d.e.groups.left.Load() == 0 {
				return
			}
			d.n++
			continue
		}
		s := d.take(ctx)
		if s == nil {
			d.drop(due)
			return
		}
		d.send(s, feed, due)
	}
}

// drop counts what should have been sent by now and will not be, because the load is over: due is the first of it.
// What is late by less than a delay is no fault: the load ended between its time and its sending.
func (d *dispatcher) drop(due int64) {
	latest := clock.Now() - int64(DelayedAfter)
	for n := d.n; due <= latest && (d.load.Limit == 0 || n < d.load.Limit); n++ {
		d.e.dropped.Add(1)
		offset, ok := d.load.Schedule.Next()
		if !ok {
			return
		}
		due = d.start + int64(offset)
	}
}

// turn chooses the feed of the next request.
func (d *dispatcher) turn(ctx context.Context) (feed int, ok bool) {
	switch d.load.Turn {
	case Random:
		return d.rng.IntN(len(d.feeds)), true
	case Serial:
		select {
		case feed = <-d.e.idleFeeds:
			return feed, true
		default:
		}
		d.flush()
		select {
		case <-ctx.Done():
			return 0, false
		case feed = <-d.e.idleFeeds:
			return feed, !d.e.stopped.Load()
		}
	default:
		return d.n % len(d.feeds), true
	}
}

// closeFeeds ends what the feeds have open, once nothing of theirs is in flight: a sequence ends after its last
// request, not before.
func (d *dispatcher) closeFeeds(ctx context.Context) {
	if _, ok := d.feeds[0].(Closer); !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	for d.e.running.Load() > 0 && d.e.pause(ctx) == nil {
	}
	for _, f := range d.feeds {
		s, _, _ := d.e.free.pop()
		if s == nil {
			return
		}
		d.e.running.Add(1)
		if !d.e.closeFeed(s, f) {
			d.e.rest(s)
			d.e.free.push(s)
		}
	}
	d.e.tr.Flush()
}

// take gets a free slot, and waits for one when none is left.
func (d *dispatcher) take(ctx context.Context) *slot {
	for {
		s, left, total := d.e.free.pop()
		if left*4 < total && total < d.load.Cap && !d.full.Load() {
			d.growMore(ctx, total)
		}
		if s != nil {
			return s
		}
		d.flush()
		select {
		case <-ctx.Done():
			return nil
		case <-d.e.free.more():
		}
		if d.e.stopped.Load() {
			return nil
		}
	}
}

// growMore doubles the slots in the background, so that dialing does not hold up what is due.
func (d *dispatcher) growMore(ctx context.Context, total int) {
	if !d.growing.TryLock() {
		return
	}
	d.grown.Go(func() {
		defer d.growing.Unlock()
		n := min(total*2, d.load.Cap)
		if d.e.grow(ctx, n) != nil {
			d.full.Store(true) // the slots that exist go on; the wait for them shows as lateness
			return
		}
		d.e.free.extend(d.e.snapshot()[:n])
	})
}

func (d *dispatcher) send(s *slot, feed int, due int64) {
	now := clock.Now()
	// The time from when this request was due, or from when the previous one went out if that is later, is
	// time in which the client was behind.
	if from := max(due, d.lastSent); now > from {
		d.e.behind.Add(now - from)
	}
	d.lastSent = now
	c := &s.call
	c.Rec = record.Record{Due: due}
	if now-due > int64(DelayedAfter) {
		c.Rec.Flags = record.Delayed
	}
	s.since.Store(now)
	d.e.running.Add(1)
	d.e.sent.Add(1)
	c.Err = nil
	s.turn = feed
	d.feeds[feed].Next(c)
	d.n++
	d.e.tr.Send(c)
	if d.ungiven++; d.ungiven >= flushEvery {
		d.flush()
	}
}

func (d *dispatcher) flush() {
	if d.ungiven > 0 {
		d.ungiven = 0
		d.e.tr.Flush()
	}
}

// freeList is the stack of idle slots of an open loop: the one used last is taken first, so that few
// connections stay warm.
type freeList struct {
	mu     sync.Mutex
	stack  []*slot
	total  int
	signal chan struct{}
}

func (f *freeList) reset(slots []*slot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stack, f.total = f.stack[:0], len(slots)
	if f.signal == nil {
		f.signal = make(chan struct{}, 1)
	}
	for _, s := range slices.Backward(slots) {
		f.stack = append(f.stack, s)
	}
}

// extend adds the slots beyond those known.
func (f *freeList) extend(slots []*slot) {
	f.mu.Lock()
	f.stack = append(f.stack, slots[f.total:]...)
	f.total = len(slots)
	f.mu.Unlock()
	f.ping()
}

func (f *freeList) pop() (s *slot, left, total int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.stack); n > 0 {
		s = f.stack[n-1]
		f.stack = f.stack[:n-1]
	}
	return s, len(f.stack), f.total
}

func (f *freeList) push(s *slot) {
	f.mu.Lock()
	f.stack = append(f.stack, s)
	first := len(f.stack) == 1
	f.mu.Unlock()
	if first {
		f.ping()
	}
}

func (f *freeList) ping() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

func (f *freeList) more() <-chan struct{} { return f.signal }
