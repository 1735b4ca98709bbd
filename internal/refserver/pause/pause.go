// Package pause waits exactly. The idle Go runtime rounds short waits up to a millisecond, which would be visible in every
// fixed latency of the server. Therefore one thread sleeps in the kernel until the next due time of all waiters, exact to some
// tens of microseconds, and then calls them. Simulated execution times, those of a language model's tokens too, are in tempo.go.
package pause

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Clock calls functions at due times. Make one with New and end it with Close.
type Clock struct {
	mu     sync.Mutex
	due    queue
	closed bool
	sleep  sleeper
	done   chan struct{}
}

// sleeper waits up to d (forever when d is negative), or until wake is called.
type sleeper interface {
	wait(d time.Duration)
	wake()
	close()
}

// New starts a clock.
func New() *Clock { return start(newSleeper()) }

// NewByTimers starts a clock with the timers of the Go runtime. It is less exact, and works with the simulated time of
// testing/synctest.
func NewByTimers() *Clock { return start(newTimerSleeper()) }

func start(s sleeper) *Clock {
	c := &Clock{sleep: s, done: make(chan struct{})}
	go c.run()
	return c
}

// Close ends the clock. What is still waiting is called at once.
func (c *Clock) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		c.sleep.wake()
	}
	c.mu.Unlock()
	<-c.done
}

// At calls f once t has come. f runs on the clock's own thread and must not block.
func (c *Clock) At(t time.Time, f func()) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		f()
		return
	}
	heap.Push(&c.due, &item{at: t, call: f})
	if c.due[0].at.Equal(t) {
		c.sleep.wake() // under the lock: the sleeper cannot be closed meanwhile
	}
	c.mu.Unlock()
}

// Until waits for t and returns nil, or the cause why ctx ended before.
func (c *Clock) Until(ctx context.Context, t time.Time) error {
	if !time.Now().Before(t) {
		return ctx.Err()
	}
	over := make(chan struct{})
	c.At(t, func() { close(over) })
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// For waits for d and returns nil, or the cause why ctx ended before.
func (c *Clock) For(ctx context.Context, d time.Duration) error {
	return c.Until(ctx, time.Now().Add(d))
}

func (c *Clock) run() {
	defer close(c.done)
	defer c.sleep.close()
	unpin := pin()
	defer unpin()
	for {
		calls, next, closed := c.take(time.Now())
		for _, f := range calls {
			f()
		}
		if closed {
			return
		}
		if len(calls) > 0 {
			handOver()
			continue
		}
		c.sleep.wait(next)
	}
}

// take removes the calls that are due and returns how long the others may wait.
func (c *Clock) take(now time.Time) (calls []func(), next time.Duration, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.due) > 0 && (c.closed || !c.due[0].at.After(now)) {
		calls = append(calls, heap.Pop(&c.due).(*item).call)
	}
	if len(c.due) == 0 {
		return calls, -1, c.closed
	}
	return calls, c.due[0].at.Sub(now), c.closed
}

type item struct {
	at   time.Time
	call func()
}

type queue []*item

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*item)) }
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return last
}
