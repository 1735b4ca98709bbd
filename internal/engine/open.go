package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/minstd"
	"github.com/redline-bench/redline/internal/pace"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
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
	// Ordered: the requests of a feed must reach the server in the order in which they are sent, also when several
	// are in flight. The transport must be a service.Tracker, and every such load of an engine have as many feeds.
	Ordered bool
	// Slots is how many slots to begin with. Cap is the most that may be in flight; more due requests wait.
	Slots, Cap int
	// Limit ends the load after so many requests; 0 is none. Each thread sends its share of them.
	Limit int
}

// Paced sends requests at their due times until the schedule ends, the limit is reached, or stop is called,
// which waits for the dispatcher but not for what is in flight. Nothing may be in flight when it is called.
func (e *Engine) Paced(ctx context.Context, load PacedLoad) (stop func(), err error) {
	tracks := 1
	if load.Ordered {
		tracks = load.Feeds
		load.Slots, load.Cap = upTo(load.Slots, tracks), upTo(load.Cap, tracks)
		if err := e.Track(tracks); err != nil {
			return nil, err
		}
	}
	if err := e.grow(ctx, load.Slots); err != nil {
		return nil, err
	}
	e.closed.Store(false)
	e.stopped.Store(false)
	e.free.reset(e.snapshot(), tracks)
	d := &dispatcher{e: e, load: load, feeds: make([]Feed, load.Feeds)}
	for i := range d.feeds {
		d.feeds[i] = e.cfg.Feed(i, load.Feeds)
	}
	e.groups = newGroups(load.Feeds, load.Threads)
	var draws []minstd.Source
	if e.turns != nil {
		draws = e.turns.draws
	}
	e.turns = newTurns(&load, e.groups.of, draws)
	e.paced = d.feeds
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

// upTo is n, or the next multiple of k.
func upTo(n, k int) int { return (n + k - 1) / k * k }

// Track has the transport put slots onto tracks; see service.Tracker. Nothing may have been sent.
func (e *Engine) Track(n int) error {
	t, ok := e.tr.(service.Tracker)
	if !ok {
		return errors.New("BUG: engine: this transport does not keep requests in order")
	}
	if e.tracks != n {
		e.tracks = n
		t.Tracks(n)
	}
	return nil
}

type dispatcher struct {
	e        *Engine
	load     PacedLoad
	start    int64
	feeds    []Feed
	n        int // requests of the schedule so far
	ungiven  int // sends since the last flush
	lastSent int64
	growing  sync.Mutex
	grown    sync.WaitGroup
	full     atomic.Bool // no more slots can be made
}

func (d *dispatcher) run(ctx context.Context) {
	defer d.e.tr.Flush()
	d.start = clock.Now()
	d.e.scheduled.Store(d.start)
	turns, groups := d.e.turns, d.e.groups
	for ; turns.left() != 0; d.n++ {
		offset, ok := d.load.Schedule.Next()
		if !ok {
			return
		}
		due := d.start + int64(offset)
		if d.e.stopped.Load() {
			d.drop(due)
			return
		}
		thread := turns.thread(d.n)
		if turns.spent(thread) {
			continue
		}
		if due > clock.Now() {
			d.flush()
			if !clock.SleepUntil(ctx, due) {
				return
			}
		}
		if groups.dead[thread].Load() {
			turns.forgo(thread)
			if groups.left.Load() == 0 {
				return
			}
			continue
		}
		feed, ok := d.turn(ctx, thread)
		if !ok {
			if groups.left.Load() != 0 {
				d.drop(due)
			}
			return
		}
		s := d.take(ctx, feed)
		if s == nil {
			d.drop(due)
			return
		}
		turns.count(feed)
		d.send(s, feed, due)
	}
}

// drop counts what should have been sent by now and will not be, because the load is over: due is the first of it.
// What is late by less than a delay is no fault: the load ended between its time and its sending.
//
// At a rate that cannot be sent, too many requests are due to count them one by one. Beyond maxCounted, drop estimates the rest
// from the rate of those it counted.
func (d *dispatcher) drop(due int64) {
	const maxCounted = 5_000_000
	latest, first, counted := clock.Now()-int64(DelayedAfter), due, 0
	for left := d.e.turns.left(); due <= latest && left != 0; left-- {
		if counted == maxCounted {
			rest := float64(latest-due) / float64(max(1, due-first)) * maxCounted
			if left > 0 {
				rest = min(rest, float64(left))
			}
			d.e.dropped.Add(uint64(rest))
			return
		}
		counted++
		d.e.dropped.Add(1)
		offset, ok := d.load.Schedule.Next()
		if !ok {
			return
		}
		due = d.start + int64(offset)
	}
}

// turn chooses the feed of the next request. Those of ended threads are passed over: they come up because their end
// woke us.
func (d *dispatcher) turn(ctx context.Context, thread int) (feed int, ok bool) {
	for {
		feed, ok = d.e.turns.next(ctx, d.n, thread, d.flush)
		if !ok || d.e.stopped.Load() || d.e.groups.left.Load() == 0 {
			return 0, false
		}
		if d.e.turns.idle == nil || !d.e.groups.ended(feed) {
			return feed, true
		}
	}
}

// closeFeeds ends what the feeds have open. A sequence ends after its last request, not before: where nothing else keeps
// the order, that must have ended.
func (d *dispatcher) closeFeeds(ctx context.Context) {
	if _, ok := d.feeds[0].(Closer); !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	for !d.load.Ordered && d.e.running.Load() > 0 && d.e.pause(ctx) == nil {
	}
	for i, f := range d.feeds {
		s := d.spare(ctx, i)
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

// spare gets a free slot for the request that ends what a feed has open. Its slots may all be in use by others that end.
func (d *dispatcher) spare(ctx context.Context, feed int) *slot {
	for {
		if s, _, _ := d.e.free.pop(feed); s != nil {
			return s
		}
		d.e.tr.Flush()
		select {
		case <-ctx.Done():
			return nil
		case <-d.e.free.more():
		}
	}
}

// take gets a free slot for the feed, and waits for one when none is left.
func (d *dispatcher) take(ctx context.Context, feed int) *slot {
	for {
		s, left, total := d.e.free.pop(feed)
		if all := total * d.e.free.tracks(); left*4 < total && all < d.load.Cap && !d.full.Load() {
			d.growMore(ctx, all)
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
	s.begin(due, now)
	d.e.running.Add(1)
	d.e.openLoopSent.Add(1)
	c.Err = nil
	s.turn = feed
	d.feeds[feed].Next(c)
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
