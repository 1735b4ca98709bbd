package load

import (
	"math"
	"slices"
	"sync"
)

// gate limits how many requests wait for their first token at once. A nil gate has no limit.
type gate struct {
	mu      sync.Mutex
	places  int
	waiting []int // slots that wait for a place, longest first
	wake    func(slot int)
	freed   chan struct{} // a place became free; a dispatcher waits for it
}

func newGate(places int, wake func(slot int)) *gate {
	if places <= 0 {
		return nil
	}
	return &gate{places: places, wake: wake, freed: make(chan struct{}, 1)}
}

// reset sets the number of places, before anything enters; 0 is no limit.
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

// enter takes a place. If none is free, it returns false and leave will wake the slot. A dispatcher has no slot: it passes
// -1 and waits for freed.
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

// leave gives a place back and wakes the slot that has waited longest.
func (g *gate) leave() {
	if g == nil {
		return
	}
	g.mu.Lock()
	g.places++
	slot := g.next()
	g.mu.Unlock()
	if slot >= 0 {
		go g.wake(slot) // the caller holds the lock of another worker
	}
	select {
	case g.freed <- struct{}{}:
	default:
	}
}

// forget removes a slot from those that wait. A place that was free for it goes to the slot that has waited longest.
func (g *gate) forget(slot int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	g.waiting = slices.DeleteFunc(g.waiting, func(s int) bool { return s == slot })
	next := -1
	if g.places > 0 {
		next = g.next()
	}
	g.mu.Unlock()
	if next >= 0 {
		g.wake(next)
	}
}

// next takes the slot that has waited longest; -1 if none waits. The lock is held.
func (g *gate) next() int {
	if len(g.waiting) == 0 {
		return -1
	}
	slot := g.waiting[0]
	g.waiting = g.waiting[1:]
	return slot
}

// open wakes all slots that wait, so that they see that the phase is over.
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
