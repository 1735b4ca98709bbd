package sched

import (
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/refserver/pause"
)

// bell wakes those who wait on it, at once or at a time. Its methods need the lock.
type bell struct {
	*sync.Cond
	clock *pause.Clock
	next  time.Time // the ring that is ordered; zero when none is
}

func newBell(lock sync.Locker, clock *pause.Clock) bell {
	return bell{Cond: sync.NewCond(lock), clock: clock}
}

// ringAt wakes all later. One order is enough as long as it is not later than asked.
func (b *bell) ringAt(t time.Time) {
	if !b.next.IsZero() && !b.next.After(t) {
		return
	}
	b.next = t
	b.clock.At(t, func() {
		b.L.Lock()
		defer b.L.Unlock()
		b.next = time.Time{}
		b.Broadcast()
	})
}
