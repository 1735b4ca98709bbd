package engine

import (
	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// Dialog is a Feed of a closed loop that listens: what it sends depends on what was answered, and for a while it
// may have nothing to send. It judges failures itself, so the engine neither counts them nor gives up.
type Dialog interface {
	Feed
	// Ended is told how a call ended, with the times and bytes of its responses where Config.Keep is set. They are
	// valid until it returns.
	Ended(c *service.Call, events []record.Event, responses []byte)
	// Ready tells whether Next has a request. A slot that has none rests until Wake finds it ready.
	Ready() bool
}

// Wake lets a slot that rests look again whether its feed is ready. It may be called from within Ended.
func (e *Engine) Wake(slot int) {
	if e.take(e.snapshot()[slot]) {
		e.tr.Flush()
	}
}

// take starts the next request of a slot at rest; it returns false when the slot is at work.
func (e *Engine) take(s *slot) bool {
	if !s.since.CompareAndSwap(0, clock.Now()) {
		return false
	}
	e.running.Add(1)
	e.next(s)
	return true
}

// silent lets the slot rest where its feed has nothing to say. A feed that becomes ready while the slot lies down
// finds it busy, so the slot looks once more before it is counted out.
func (e *Engine) silent(s *slot) bool {
	d, ok := s.feed.(Dialog)
	if !ok {
		return false
	}
	for !d.Ready() {
		s.since.Store(0)
		if !d.Ready() || !s.since.CompareAndSwap(0, clock.Now()) {
			e.running.Add(-1)
			e.notify()
			return true
		}
	}
	return false
}

// heard reports the end of a call to a feed that listens.
func (e *Engine) heard(s *slot) bool {
	d, ok := s.feed.(Dialog)
	if !ok {
		return false
	}
	d.Ended(&s.call, s.events, s.data)
	s.shard.Add(&s.call.Rec, nil, nil)
	s.events, s.data = s.events[:0], s.data[:0]
	e.next(s)
	return true
}
