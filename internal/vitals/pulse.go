package vitals

import (
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/clock"
)

// A pulse ticks every beat. The Go runtime's own metrics show pauses shorter than least.
const (
	beat  = 20 * time.Millisecond
	least = 100 * time.Millisecond
	// mostStandstills limits the number of kept standstills.
	mostStandstills = 1000
)

// Pulse detects when this whole process did not run, because it or its machine was suspended. The runtime's own metrics do not
// show this, because no part of the process could run.
type Pulse struct {
	quit  chan struct{}
	ended chan struct{}

	mu          sync.Mutex
	standstills []standstill
}

// standstill is a time in which the process did not run.
type standstill struct{ from, to int64 } // readings of clock.Now

// StartPulse begins to watch; Stop ends it.
func StartPulse() *Pulse {
	p := &Pulse{quit: make(chan struct{}), ended: make(chan struct{})}
	go p.watch()
	return p
}

// Stop ends watching.
func (p *Pulse) Stop() {
	close(p.quit)
	<-p.ended
}

func (p *Pulse) watch() {
	defer close(p.ended)
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	last := clock.Now()
	for {
		select {
		case <-p.quit:
			return
		case <-ticker.C:
			now := clock.Now()
			p.note(last, now)
			last = now
		}
	}
}

// note keeps the time between two ticks if it was too long.
func (p *Pulse) note(last, now int64) {
	from := last + int64(beat)
	if now-from < int64(least) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.standstills) < mostStandstills {
		p.standstills = append(p.standstills, standstill{from, now})
	}
}

// Longest is the longest standstill that touched the time from one reading of clock.Now to another; 0 if there was none.
func (p *Pulse) Longest(from, to int64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var longest int64
	for _, s := range p.standstills {
		if s.from < to && s.to > from {
			longest = max(longest, s.to-s.from)
		}
	}
	return time.Duration(longest)
}
