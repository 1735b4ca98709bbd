package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
)

// slowAnswer is how many times as long as the turn-around an answer must have taken for the slot to linger after it: a
// load never loses more than this part of its throughput to lingering, and that of a fast server loses nothing.
const slowAnswer = 8

// mostLinger is how many slots may linger at once. Others send at once: where so many answers come together, servers do
// not see the end of one and the next request as neighbors, and the load must not be held up by one goroutine.
const mostLinger = 64

// lingering are slots of a closed loop whose answer has just come and whose next request waits for the turn-around.
// One goroutine sends what is due, all of it together, and sleeps in between.
type lingering struct {
	turn   atomic.Int64 // the turn-around; 0: nobody lingers
	mu     sync.Mutex
	queue  []lingerer // in the order of their times
	ended  bool
	signal chan struct{}
	stop   context.CancelFunc // nil until it is first needed
	done   sync.WaitGroup
}

type lingerer struct {
	s   *slot
	due int64
}

// TurnAround has each slot of a closed load wait that long between a slow answer and its next request; 0 is not at all.
// It is for loads that must meet a server as another client does, whose turn-around is longer than ours.
func (e *Engine) TurnAround(ctx context.Context, d time.Duration) {
	l := &e.lingering
	l.turn.Store(int64(d))
	if d > 0 && l.stop == nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		l.signal, l.stop = make(chan struct{}, 1), cancel
		l.done.Go(func() { e.sendLingering(ctx) })
	}
}

// endLingering lets those that linger go on at once; nobody lingers any more.
func (e *Engine) endLingering() {
	if l := &e.lingering; l.stop != nil {
		l.stop()
		l.done.Wait()
	}
}

// linger has the slot send its next request later, where its last answer was slow enough; false where it must not wait.
func (e *Engine) linger(s *slot) bool {
	turn, rec := e.lingering.turn.Load(), &s.call.Rec
	if turn == 0 || rec.Class != record.OK || rec.End-rec.Sent < slowAnswer*turn || e.stopped.Load() {
		return false
	}
	return e.lingering.add(s, rec.End+turn)
}

func (l *lingering) add(s *slot, due int64) bool {
	l.mu.Lock()
	if l.ended || len(l.queue) >= mostLinger {
		l.mu.Unlock()
		return false
	}
	l.queue = append(l.queue, lingerer{s, due})
	first := len(l.queue) == 1
	l.mu.Unlock()
	if first {
		select {
		case l.signal <- struct{}{}:
		default:
		}
	}
	return true
}

// take moves those that are due by now to batch. next is when the first of the others is; 0 where there is none.
func (l *lingering) take(batch []*slot, now int64) (due []*slot, next int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for ; n < len(l.queue) && l.queue[n].due <= now; n++ {
		batch = append(batch, l.queue[n].s)
	}
	l.queue = append(l.queue[:0], l.queue[n:]...)
	if len(l.queue) > 0 {
		next = l.queue[0].due
	}
	return batch, next
}

// leave takes all that are left, and lets nobody in any more.
func (l *lingering) leave(batch []*slot) []*slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, w := range l.queue {
		batch = append(batch, w.s)
	}
	l.queue = nil
	return batch
}

// sendLingering sends what is due until ctx ends.
func (e *Engine) sendLingering(ctx context.Context) {
	l := &e.lingering
	batch := make([]*slot, 0, mostLinger)
	for ctx.Err() == nil {
		due, next := l.take(batch, clock.Now())
		e.goOn(due)
		switch {
		case len(due) > 0:
		case next > 0:
			clock.SleepUntil(ctx, next)
		default:
			select {
			case <-l.signal:
			case <-ctx.Done():
			}
		}
	}
	e.goOn(l.leave(batch))
}

// goOn sends the next requests of slots that have lingered.
func (e *Engine) goOn(slots []*slot) {
	if len(slots) == 0 {
		return
	}
	for _, s := range slots {
		e.next(s)
	}
	e.tr.Flush()
}
