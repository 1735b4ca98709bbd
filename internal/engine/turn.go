package engine

import (
	"context"
	"sync"

	"github.com/redline-bench/redline/internal/minstd"
)

// Turn is the order in which the feeds of a paced load are used. Feeds belong to threads, neighbors to one. But for
// plain turns request n is due on thread (n mod Feeds) mod Threads: so the original deals out its schedule.
type Turn uint8

// The orders.
const (
	RoundRobin Turn = iota // request n uses feed n mod Feeds
	Random                 // any feed of the thread, whether or not it has something in flight
	Blocking               // any feed of the thread, but one request of the thread at a time
	Serial                 // the thread's feed that has been idle longest; one request of a feed at a time
)

// ThreadOf is the thread of a feed: each has as many neighbors, the first ones one more where it does not come out
// even.
func ThreadOf(feed, feeds, threads int) int {
	threads = max(1, min(threads, feeds))
	share, more := feeds/threads, feeds%threads
	if feed < more*(share+1) {
		return feed / (share + 1)
	}
	return more + (feed-more*(share+1))/share
}

// turns chooses the feeds of a paced load, one after the other.
type turns struct {
	order Turn
	of    []int // the thread of each feed
	first []int // the first feed of each thread, and the number of feeds
	draws []minstd.Source
	quota []int // what each thread may still send; nil: no limit
	idle  *idle // of feeds, or of threads; nil: nothing is waited for
}

// newTurns goes on with the draws of the load before, one generator a thread.
func newTurns(load *PacedLoad, of []int, draws []minstd.Source) *turns {
	threads := of[len(of)-1] + 1
	t := &turns{order: load.Turn, of: of, first: make([]int, threads+1), draws: draws}
	for feed, thread := range of {
		t.first[thread+1] = feed + 1
	}
	for len(t.draws) < threads {
		t.draws = append(t.draws, minstd.New(load.Seed))
	}
	if load.Limit > 0 {
		t.quota = make([]int, threads)
		for i := range t.quota {
			t.quota[i] = share(load.Limit, threads, i)
		}
	}
	switch load.Turn {
	case Serial:
		t.idle = newIdle(threads)
		for feed, thread := range of {
			t.idle.push(feed, thread)
		}
	case Blocking:
		t.idle = newIdle(threads)
		for thread := range threads {
			t.idle.push(thread, thread)
		}
	case RoundRobin, Random:
	}
	return t
}

// share is the part of n that one of several has, the first ones one more where it does not come out even.
func share(n, of, i int) int {
	if i < n%of {
		return n/of + 1
	}
	return n / of
}

// thread is where request n is due.
func (t *turns) thread(n int) int {
	if t.order == RoundRobin {
		return t.of[n%len(t.of)]
	}
	return n % len(t.of) % (len(t.first) - 1)
}

// spent tells whether the thread has sent all that it may.
func (t *turns) spent(thread int) bool { return t.quota != nil && t.quota[thread] == 0 }

// count notes that a feed has sent one.
func (t *turns) count(feed int) {
	if t.quota != nil {
		t.quota[t.of[feed]]--
	}
}

// forgo gives up what the thread may still send.
func (t *turns) forgo(thread int) {
	if t.quota != nil {
		t.quota[thread] = 0
	}
}

// left is how many requests may still be sent; without a limit a negative number.
func (t *turns) left() int {
	if t.quota == nil {
		return -1
	}
	sum := 0
	for _, q := range t.quota {
		sum += q
	}
	return sum
}

// next chooses the feed of request n, which is due on the given thread. Where that has none to give, one of another
// thread goes: it is better to send than to be late. ok is false when ctx has ended.
func (t *turns) next(ctx context.Context, n, thread int, waits func()) (feed int, ok bool) {
	switch t.order {
	case Random:
		return t.draw(thread), true
	case Serial:
		return t.idle.pop(ctx, thread, t.spent, waits)
	case Blocking:
		thread, ok = t.idle.pop(ctx, thread, t.spent, waits)
		return t.draw(thread), ok
	case RoundRobin:
	}
	return n % len(t.of), true
}

func (t *turns) draw(thread int) int {
	first := t.first[thread]
	return first + t.draws[thread].Below(t.first[thread+1]-first)
}

// done tells that the request of a feed has ended.
func (t *turns) done(feed int) {
	switch t.order {
	case Serial:
		t.idle.push(feed, t.of[feed])
	case Blocking:
		t.idle.push(t.of[feed], t.of[feed])
	case RoundRobin, Random:
	}
}

// idle holds what has nothing in flight, in the order in which it became so, by thread.
type idle struct {
	mu     sync.Mutex
	queues [][]int
	signal chan struct{}
}

func newIdle(threads int) *idle {
	return &idle{queues: make([][]int, threads), signal: make(chan struct{}, 1)}
}

func (i *idle) push(v, thread int) {
	i.mu.Lock()
	i.queues[thread] = append(i.queues[thread], v)
	i.mu.Unlock()
	select {
	case i.signal <- struct{}{}:
	default:
	}
}

// pop takes the one that has waited longest on the thread, or on the next one that has any and has not spent its
// share. It calls waits before it blocks.
func (i *idle) pop(ctx context.Context, thread int, spent func(int) bool, waits func()) (v int, ok bool) {
	for {
		if v, ok = i.try(thread, spent); ok {
			return v, true
		}
		waits()
		select {
		case <-ctx.Done():
			return 0, false
		case <-i.signal:
		}
	}
}

func (i *idle) try(thread int, spent func(int) bool) (v int, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for k := range i.queues {
		from := (thread + k) % len(i.queues)
		if q := &i.queues[from]; len(*q) > 0 && !spent(from) {
			v = (*q)[0]
			*q = append((*q)[:0], (*q)[1:]...)
			return v, true
		}
	}
	return 0, false
}
