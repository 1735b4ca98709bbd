package engine

import (
	"time"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// Talk is a Feed of a closed loop that holds conversations: what it sends depends on what was answered, and it
// pauses between its turns. A pause is no idle time of the load: the slot counts as at work until the talk ends.
type Talk interface {
	Feed
	// Heard is told how a call ended, with its responses where Config.Keep is set; they are valid until it
	// returns. An error makes the call a failure.
	Heard(c *service.Call, events []record.Event, responses []byte) error
	// Pause is how long the slot is silent before its next request; ok is false when it has nothing more to say.
	Pause() (wait time.Duration, ok bool)
}

// listen hands the end of a call to a talk, and may turn it into a failure.
func (s *slot) listen() {
	c := &s.call
	if err := s.talk.Heard(c, s.events, s.data); err != nil && c.Rec.Class == record.OK {
		c.Rec.Class, c.Err = record.Protocol, err
	}
}

// nextTurn lets a talk pause before its next request; false when it may speak at once.
func (e *Engine) nextTurn(s *slot) (silent bool) {
	wait, ok := s.talk.Pause()
	switch {
	case !ok:
		e.rest(s)
		return true
	case wait <= 0:
		return false
	}
	s.since.Store(0) // nothing is in flight that a deadline could cut
	t := time.AfterFunc(wait, func() {
		e.speak(s)
		e.tr.Flush()
	})
	s.nap.Store(t)
	if e.stopped.Load() && t.Stop() {
		e.rest(s) // Stop came before it could see the pause
	}
	return true
}

// endPauses lets slots rest that are silent when the load is stopped.
func (e *Engine) endPauses() {
	for _, s := range e.snapshot() {
		if t := s.nap.Load(); t != nil && t.Stop() {
			e.rest(s)
		}
	}
}
