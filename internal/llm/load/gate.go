package load

import (
	"math"
	"slices"
	"sync"
)

// gate lets so many requests at once wait for their first token. A nil gate lets all through.
type gate struct {
	mu      sync.Mutex
	places  int
	waiting []int // slots, longest first
	wake    func(slot int)
	freed   chan struct{} // a place became free, for a dispatcher
}

func newGate(places int, wake func(slot int)) *gate {
	if places <= 0 {
		return nil
	}
	return &gate{places: places, wake: wake, freed: make(chan struct{}, 1)}
}

// reset gives the gate its places, before anything enters; 0 is no limit.
func (g *gate) reset(places int) {
	if g == nil {
		return
	}
	if places <= 0 {
		places = math.MaxInt
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.places, g.waiting = places, nil
}

// enter takes a place, or notes that the slot waits for one. A dispatcher has no slot: it passes -1 and waits for freed.
func (g *gate) enter(slot int) bool {
	if g == nil {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.places > 0 {
		g.places--
		return true
	}
	if slot >= 0 && !slices.Contains(g.waiting, slot) {
		g.waiting = append(g.waiting, slot)
	}
	return false
}

// leave gives a place back and wakes who waits longest.
func (g *gate) leave() {
	if g == nil {
		return
	}
	g.mu.Lock()
	g.places++
	slot := -1
	if len(g.waiting) > 0 {
		slot, g.waiting = g.waiting[0], g.waiting[1:]
	}
	g.mu.Unlock()
	if slot >= 0 {
		go g.wake(slot) // the caller holds the lock of another worker
	}
	select {
	case g.freed <- struct{}{}:
	default:
	}
}

// open wakes all that wait, so that they see that the phase is over.
func (g *gate) open() {
	if g == nil {
		return
	}
	g.mu.Lock()
	waiting := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	for _, s := range waiting {
		g.wake(s)
	}
}
