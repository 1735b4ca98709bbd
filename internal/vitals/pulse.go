package vitals

import (
	"sync"
	"time"

	"github.com/redline-bench/redline/internal/clock"
)

// A pulse beats every beat. Standstills shorter than least are left to the figures of the Go runtime.
const (
	beat  = 20 * time.Millisecond
	least = 100 * time.Millisecond
	// mostStandstills bounds what is kept.
	mostStandstills = 1000
)

// Pulse notices when this whole process stood still: it was suspended, or its machine was. The runtime's own figures
// do not show that, because nothing in the process could run to see it.
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

// note keeps the time between two beats if it was too long.
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
