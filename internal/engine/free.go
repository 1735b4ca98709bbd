package engine

import (
	"slices"
	"sync"
)

// freeList is the idle slots of an open loop, as stacks: the one used last is taken first, so that few connections
// stay warm. Where the order of a feed's requests is kept, each feed has a stack of its own, of the slots that are on
// its track; else there is one for all.
type freeList struct {
	mu     sync.Mutex
	stacks [][]*slot
	total  int // slots in all
	signal chan struct{}
}

func (f *freeList) reset(slots []*slot, tracks int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.stacks) != tracks {
		f.stacks = make([][]*slot, tracks)
	}
	for i := range f.stacks {
		f.stacks[i] = f.stacks[i][:0]
	}
	f.total = len(slots)
	if f.signal == nil {
		f.signal = make(chan struct{}, 1)
	}
	for _, s := range slices.Backward(slots) {
		f.add(s)
	}
}

// add puts a slot on its stack, and tells whether that was empty.
func (f *freeList) add(s *slot) bool {
	stack := &f.stacks[s.call.Slot%len(f.stacks)]
	*stack = append(*stack, s)
	return len(*stack) == 1
}

// tracks is the number of stacks.
func (f *freeList) tracks() int { return len(f.stacks) }

// extend adds the slots beyond those known.
func (f *freeList) extend(slots []*slot) {
	f.mu.Lock()
	for _, s := range slots[f.total:] {
		f.add(s)
	}
	f.total = len(slots)
	f.mu.Unlock()
	f.ping()
}

// pop takes a slot for a feed. left is how many remain for it, total how many there are.
func (f *freeList) pop(feed int) (s *slot, left, total int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stack := &f.stacks[feed%len(f.stacks)]
	if n := len(*stack); n > 0 {
		s = (*stack)[n-1]
		*stack = (*stack)[:n-1]
	}
	return s, len(*stack), f.total / len(f.stacks)
}

func (f *freeList) push(s *slot) {
	f.mu.Lock()
	first := f.add(s)
	f.mu.Unlock()
	if first {
		f.ping()
	}
}

func (f *freeList) ping() {
	select {
	case f.signal <- struct{}{}:
	default:
	}
}

func (f *freeList) more() <-chan struct{} { return f.signal }
