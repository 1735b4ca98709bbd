package load

import "testing"

// A place that was free for a slot that is no longer used goes to the next one that waits.
func TestAPlaceIsNotLostWithItsSlot(t *testing.T) {
	woken := make(chan int, 2)
	g := newGate(1, func(slot int) { woken <- slot })
	if !g.enter(0) || g.enter(5) || g.enter(3) {
		t.Fatal("want one place")
	}
	g.leave()
	if slot := <-woken; slot != 5 {
		t.Fatalf("slot %d was woken, want 5", slot)
	}
	g.forget(5)
	if slot := <-woken; slot != 3 {
		t.Errorf("slot %d was woken, want 3", slot)
	}
}
