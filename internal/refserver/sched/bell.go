package sched

import (
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/refserver/pause"
)

// bell wakes its waiters, at once or at a time. Callers of its methods hold the lock.
type bell struct {
	*sync.Cond
	clock *pause.Clock
	next  time.Time // time of the next wake-up; zero for none
}

func newBell(lock sync.Locker, clock *pause.Clock) bell {
	return bell{Cond: sync.NewCond(lock), clock: clock}
}

// ringAt wakes all waiters at a time. An earlier wake-up that is already set is enough.
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
