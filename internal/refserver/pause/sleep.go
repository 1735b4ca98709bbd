package pause

import (
	"runtime"
	"time"
)

// timerSleeper sleeps by the runtime's timers, where the kernel offers nothing better.
type timerSleeper struct{ bell chan struct{} }

func newTimerSleeper() sleeper { return &timerSleeper{bell: make(chan struct{}, 1)} }

func (s *timerSleeper) wait(d time.Duration) {
	if d < 0 {
		<-s.bell
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.bell:
	case <-timer.C:
	}
}

func (s *timerSleeper) wake() {
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

func (s *timerSleeper) close() {}

// handOver lets the goroutines that were just woken run before the clock's thread sleeps with their processor.
func handOver() { runtime.Gosched() }
