package engine

import (
	"time"

	"github.com/redline-bench/redline/internal/clock"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// Listener is a Feed of a closed loop that listens: what it sends depends on what was answered, and it may be
// silent between its requests. A silence of known length is no idle time of the load: the slot counts as at work.
type Listener interface {
	Feed
	// Heard is told how a call ended, with its responses where Config.Keep is set; they are valid until it
	// returns. An error makes the call a failure. A feed that judges failures itself sets the record's class to OK.
	Heard(c *service.Call, events []record.Event, responses []byte) error
	// Pause is how long the slot is silent before its next request. ok is false when there is none now: the slot
	// rests until Wake, and the feed may be asked again at any time.
	Pause() (wait time.Duration, ok bool)
}

// Watcher is a Feed of a closed loop that looks at each response as it comes, on the transport's goroutine.
type Watcher interface {
	Feed
	Watch(c *service.Call, response []byte, at int64)
}

// Cut ends the request in flight on a slot, if any, with the given class. It must not be called from within Watch.
func (e *Engine) Cut(slot int, class record.Class) { e.tr.Cut(slot, class) }

// Wake lets a slot that rests look again whether its feed has something to say. It may be called from within Heard.
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

// listen hands the end of a call to its feed, which may turn it into a failure.
func (s *slot) listen() {
	c := &s.call
	if err := s.listener.Heard(c, s.events, s.data); err != nil && c.Rec.Class == record.OK {
		c.Rec.Class, c.Err = record.Protocol, err
	}
}

// silent lets a listener pause or rest before its next request; false when it may speak at once.
func (e *Engine) silent(s *slot) bool {
	listener := s.listener // once the slot is idle, another goroutine may take it and change its feed
	wait, ok := listener.Pause()
	for !ok {
		// A feed that finds something to say while its slot lies down sees the slot busy, so the slot asks once more
		// before it is counted out.
		s.since.Store(0)
		if wait, ok = listener.Pause(); !ok || !s.since.CompareAndSwap(0, clock.Now()) {
			e.running.Add(-1)
			e.notify()
			return true
		}
	}
	if wait <= 0 {
		return false
	}
	e.pauseSlot(s, wait, e.speak)
	return true
}

// pauseSlot calls then for the slot after a time, or when the load is stopped. Nothing is in flight meanwhile.
func (e *Engine) pauseSlot(s *slot, wait time.Duration, then func(*slot)) {
	s.since.Store(paused)
	stored := make(chan struct{})
	t := time.AfterFunc(wait, func() {
		<-stored // or the pause after this one could be stored before it
		then(s)
		e.tr.Flush()
	})
	s.pause.Store(t)
	close(stored)
	if e.stopped.Load() && t.Stop() { // Stop came before it could see the pause
		e.speak(s)
		e.tr.Flush()
	}
}

// endPauses ends the pauses of a load that is stopped: each slot closes what its feed has open, or rests.
func (e *Engine) endPauses() {
	for _, s := range e.snapshot() {
		if t := s.pause.Load(); t != nil && t.Stop() {
			e.speak(s)
		}
	}
	e.tr.Flush()
}
