package engine

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// maxTexts bounds how many different failure texts are kept; the rest are counted under their class alone.
const maxTexts = 64

// maxSlots bounds for how many slots the first failure is kept.
const maxSlots = 1024

// Failure is a group of failed requests with the same class and text, numbers in it aside.
type Failure struct {
	Class record.Class
	Err   error // of the first
	Slot  int   // of the first
	Count uint64
}

// failures groups failed calls. Failures are rare or end the run, so a lock is no burden.
type failures struct {
	mu     sync.Mutex
	groups []*Failure
	index  map[failureKey]*Failure
	bySlot map[int]error
}

type failureKey struct {
	class record.Class
	text  string
}

var errOther = errors.New("other failures of this class")

// add notes a failed call under a slot.
func (f *failures) add(c *service.Call, slot int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := c.Err
	if err == nil {
		err = errors.New(c.Rec.Class.String())
	}
	key := failureKey{c.Rec.Class, Mask(err.Error())}
	g := f.index[key]
	if g == nil && len(f.groups) >= maxTexts {
		key.text, err = "", errOther
		g = f.index[key]
	}
	if g == nil {
		g = &Failure{Class: c.Rec.Class, Err: err, Slot: slot}
		if f.index == nil {
			f.index = make(map[failureKey]*Failure)
		}
		f.index[key] = g
		f.groups = append(f.groups, g)
	}
	g.Count++
	if f.bySlot == nil {
		f.bySlot = make(map[int]error)
	}
	if _, known := f.bySlot[slot]; !known && len(f.bySlot) < maxSlots {
		f.bySlot[slot] = err
	}
}

// Mask makes texts that differ in numbers alone equal: request ids, addresses, counts.
func Mask(text string) string {
	var b strings.Builder
	digits := false
	for _, r := range text {
		if unicode.IsDigit(r) {
			if !digits {
				b.WriteByte('#')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteRune(r)
	}
	return b.String()
}

// SlotError is the first failure of one slot.
type SlotError struct {
	Slot int
	Err  error
}

// slots lists the first failure of each slot, in the order of the slots.
func (f *failures) slots() []SlotError {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []SlotError
	for _, slot := range slices.Sorted(maps.Keys(f.bySlot)) {
		out = append(out, SlotError{slot, f.bySlot[slot]})
	}
	return out
}

func (f *failures) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.groups, f.index, f.bySlot = nil, nil, nil
}

// list copies the groups in the order of their first failure.
func (f *failures) list() []Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Failure, len(f.groups))
	for i, g := range f.groups {
		out[i] = *g
	}
	return out
}

// groups are the feeds of a paced load by the thread that the original would have them on. Without any, as in closed
// loop, nothing ever ends.
type groups struct {
	of   []int // by feed
	dead []atomic.Bool
	left atomic.Int64
}

// newGroups deals the feeds out to the threads; see ThreadOf.
func newGroups(feeds, threads int) *groups {
	if threads == 0 {
		threads = feeds
	}
	threads = min(threads, feeds)
	g := &groups{of: make([]int, feeds), dead: make([]atomic.Bool, threads)}
	for i := range g.of {
		g.of[i] = ThreadOf(i, feeds, threads)
	}
	g.left.Store(int64(threads))
	return g
}

func (g *groups) ended(feed int) bool { return g.dead[g.of[feed]].Load() }

// end stops the group of a feed.
func (g *groups) end(feed int) {
	if !g.dead[g.of[feed]].Swap(true) {
		g.left.Add(-1)
	}
}
