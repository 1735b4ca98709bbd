package cli

import (
	"sync"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/service"
	"github.com/redline-bench/redline/internal/workload"
)

// feeds hands out one cursor a slot and keeps it over all levels, so that request ids and sequences go on.
type feeds struct {
	requests  *workload.Requests
	sequences *workload.Sequences // nil for models without state
	ids       bool
	once      bool // each request is sent once: a phase goes on where the one before it ended

	mu      sync.Mutex
	cursors map[int]*workload.Cursor
	states  map[int]*workload.SequenceCursor
}

func newFeeds(r *workload.Requests, m *service.Model, p *plan.Plan, async bool) *feeds {
	f := &feeds{requests: r, ids: async, once: p.Load.Mode == plan.FixedSchedule, cursors: map[int]*workload.Cursor{}, states: map[int]*workload.SequenceCursor{}}
	if m.Sequential() {
		f.sequences = r.Sequences(sequenceSlots(p))
	}
	return f
}

// sequenceSlots is how many sequences may be open at once.
func sequenceSlots(p *plan.Plan) int {
	if p.Load.Mode == plan.Concurrency {
		return max(p.Load.Concurrency.Start, p.Load.Concurrency.End)
	}
	return p.Input.Sequences
}

// feed is the request source of a slot, one of active ones.
func (f *feeds) feed(slot, active int) engine.Feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sequences != nil {
		c := f.states[slot]
		if c == nil {
			c = f.sequences.Cursor(slot, f.ids)
			f.states[slot] = c
		}
		return c
	}
	c := f.cursors[slot]
	if c == nil {
		c = f.requests.Cursor(slot, active, f.ids)
		f.cursors[slot] = c
		return c
	}
	if !f.once {
		c.Resize(active)
	}
	return c
}
