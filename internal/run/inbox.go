package run

import (
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/engine"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/record"
)

// Inbox passes on the records of requests that ended until a time, and holds those that ended later: records come a moment after the ends
// of their requests, from a fleet in the order of its workers' messages. It is used by Collect and in functions given to Sync.
type Inbox struct {
	to    Collect
	until int64
	later []late
}

type late struct {
	rec    record.Record
	events []record.Event
	data   []byte
}

// NewInbox makes an Inbox that passes on what ended until a time.
func NewInbox(until int64, to Collect) *Inbox { return &Inbox{to: to, until: until} }

// The times of an Inbox that holds all records, and of one that holds none.
const (
	HoldAll  = math.MinInt64
	HoldNone = math.MaxInt64
)

// Take receives a record.
func (b *Inbox) Take(r *record.Record, events []record.Event, data []byte) {
	if r.End > b.until {
		b.later = append(b.later, late{*r, slices.Clone(events), slices.Clone(data)})
		return
	}
	b.to(r, events, data)
}

// Until sets the time, and passes on the records that need wait no longer.
func (b *Inbox) Until(at int64) {
	b.until = at
	waiting := b.later
	b.later = nil
	for i := range waiting {
		b.Take(&waiting[i].rec, waiting[i].events, waiting[i].data)
	}
}

// InFlight are the requests that were in flight at a time: flights, and those that have ended since and are held.
func (b *Inbox) InFlight(at int64, flights []engine.Flight) []measure.Pending {
	var out []measure.Pending
	for _, f := range flights {
		if f.Sent < at {
			out = append(out, measure.Pending{Slot: uint32(f.Slot), Due: f.Due, Sent: f.Sent})
		}
	}
	for i := range b.later {
		if r := &b.later[i].rec; r.Sent < at && r.Flags&record.Closing == 0 {
			out = append(out, measure.Pending{Slot: r.Slot, Due: r.Due, Sent: r.Sent})
		}
	}
	return out
}
