package engine

import (
	"slices"
	"sync"
)

// freeList is the free slots of a paced loop, as stacks: the slot used last is taken first, so that few connections stay
// warm. With tracks, track i has a stack of its own with slots i, i+tracks, i+2·tracks, ...; otherwise there is one stack.
type freeList struct {
	mu     sync.Mutex
	stacks [][]*slot
	total  int // slots in all
	signal chan struct{}
}

func newFreeList(slots []*slot, tracks int) *freeList {
	f := &freeList{stacks: make([][]*slot, tracks), total: len(slots), signal: make(chan struct{}, 1)}
	for _, s := range slices.Backward(slots) {
		f.add(s)
	}
	return f
}

// add puts a slot on its stack, and tells whether that was empty.
func (f *freeList) add(s *slot) bool {
	stack := &f.stacks[s.call.Slot%len(f.stacks)]
	*stack = append(*stack, s)
	return len(*stack) == 1
}

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

// pop takes a slot of a track. left is how many of its slots remain free, total how many slots it has.
func (f *freeList) pop(track int) (s *slot, left, total int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stack := &f.stacks[track%len(f.stacks)]
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
