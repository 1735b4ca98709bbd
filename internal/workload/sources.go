package workload

import (
	"sync"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
)

// Source yields the next request of a slot.
type Source interface {
	Next(call *service.Call)
}

// Sources hands out one source a slot and keeps it over all levels, so that request ids and sequences go on.
//
// With plan.Policies.PerThread request ids count by thread, so slots share a cursor where there are more slots than threads.
type Sources struct {
	requests  *Requests
	sequences *Sequences // nil for models without state
	threadOf  func(source, sources, threads int) int
	ids       bool
	once      bool // each request is sent once: the load goes on where the warm-up ended
	warmups   int  // how many of them that sends
	sent      int  // how many it has sent: none, or all
	open      bool // open loop: what is called a slot here takes turns with the others
	threads   int  // 0: one for each slot
	part      segment.Segment

	mu      sync.Mutex
	cursors map[int]*Cursor
	common  map[int]*common
	states  map[int]*SequenceCursor
}

// common is a cursor that several slots use.
type common struct {
	mu sync.Mutex
	*Cursor
	active int
}

// Next implements Source.
func (c *common) Next(call *service.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Cursor.Next(call)
}

// NewSources makes the sources of a plan's load. threadOf is the thread of an open loop's source among so many sources and
// threads.
func NewSources(r *Requests, m *service.Model, p *plan.Plan, async bool, threadOf func(source, sources, threads int) int) *Sources {
	f := &Sources{
		requests: r, part: p.Segment, threadOf: threadOf, ids: async, once: p.Load.Mode == plan.FixedSchedule, warmups: p.Measure.WarmupCount,
		cursors: map[int]*Cursor{}, common: map[int]*common{}, states: map[int]*SequenceCursor{},
	}
	f.open = p.Load.Mode != plan.Concurrency && p.Load.Mode != plan.PeriodicConcurrency
	if deal := p.Arrivals(m.Sequential(), async); f.open {
		f.part = deal.Segment
		if deal.Count(f.warmups) == 0 { // other segments have the warm-up
			f.sent = f.warmups
		}
	}
	if p.Load.Mode == plan.PeriodicConcurrency { // it cannot be divided: the first segment has all of it
		f.part = segment.Segment{}
	}
	levels := p.Load.Concurrency
	beyond := max(levels.Start, levels.End) > p.Load.MaxThreads || levels.End == 0
	if f.open || p.Policies.PerThread && async && p.Load.Mode == plan.Concurrency && beyond {
		f.threads = p.Load.MaxThreads
	}
	if m.Sequential() {
		f.sequences = r.Sequences(f.part.Share(sequenceSlots(p)), f.part)
	}
	return f
}

// sequenceSlots is how many sequences may be open at once, in all segments together.
func sequenceSlots(p *plan.Plan) int {
	if p.Load.Mode == plan.Concurrency {
		return max(p.Load.Concurrency.Start, p.Load.Concurrency.End)
	}
	return p.Input.Sequences
}

// Source is the request source of a slot of this process. active is the number of slots of the whole load. A slot takes the requests
// that it would take in a process that has all slots.
func (f *Sources) Source(slot, active int) Source {
	f.mu.Lock()
	defer f.mu.Unlock()
	own := slot
	slot = f.part.Number(own)
	if f.sequences != nil {
		c := f.states[slot]
		if c == nil {
			c = f.sequences.Cursor(own, f.thread(slot, active), f.ids)
			f.states[slot] = c
		}
		return c
	}
	if !f.open && f.threads > 0 {
		return f.share(slot%f.threads, min(active, f.threads))
	}
	c := f.cursors[slot]
	switch {
	case c == nil:
		c = f.requests.Cursor(slot, active, f.ids)
		f.cursors[slot] = c
	case f.once && own == 0:
		f.sent = f.warmups
		fallthrough
	default:
		c.Resize(active)
	}
	if f.once {
		c.Skip(f.sent)
	}
	return c
}

// share is the cursor of a thread, one of active ones, for all of its slots.
func (f *Sources) share(thread, active int) Source {
	c := f.common[thread]
	if c == nil {
		c = &common{Cursor: f.requests.Cursor(thread, active, f.ids), active: active}
		f.common[thread] = c
		return c
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active != active {
		c.active = active
		c.Resize(active)
	}
	return c
}

// thread is the thread of a slot.
func (f *Sources) thread(slot, active int) int {
	switch {
	case f.threads == 0:
		return slot
	case f.open:
		return f.threadOf(slot, active, f.threads)
	default:
		return slot % f.threads
	}
}
