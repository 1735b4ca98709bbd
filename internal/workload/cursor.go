package workload

import (
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/service"
)

// counterBits is the part of a request id that counts; the slot stands above it.
const counterBits = 48

// sequenceFlags are the record's flags that the feeds of this package set and clear.
const sequenceFlags = record.SequenceStart | record.SequenceEnd

// Cursor names the requests of one slot. It shares nothing with the other slots' cursors: of n active slots,
// slot i takes requests i, i+n, i+2n, ..., counted around the list, so that together they take all of them
// in turn. One goroutine at a time may use it.
type Cursor struct {
	list   []service.Request
	at     int
	stride int // below len(list), so that one subtraction brings at back into it
	slot   uint64
	id     uint64
	ids    bool
}

// Cursor makes the cursor of one of the active slots. With ids, as asynchronous calls need them, each call
// carries a request id that no other call of the run has; without, the id is empty.
func (r *Requests) Cursor(slot, active int, ids bool) *Cursor {
	c := &Cursor{list: r.list, slot: uint64(slot), id: uint64(slot) << counterBits, ids: ids}
	c.Resize(active)
	return c
}

// Resize starts anew with another number of active slots. Request ids go on, so that a late answer to a call
// of the level before is never taken for one of this.
func (c *Cursor) Resize(active int) {
	n := uint64(len(c.list))
	c.at = int(c.slot % n)
	c.stride = int(uint64(max(active, 1)) % n)
}

// Skip passes over the first n requests of the list, for all slots alike.
func (c *Cursor) Skip(n int) { c.at = (c.at + n) % len(c.list) }

// Restart counts request ids from the first one again.
func (c *Cursor) Restart() { c.id = c.slot << counterBits }

// Next sets up c for the next request of the slot: the request itself, its variable parts, and what the
// record must say of it.
func (c *Cursor) Next(call *service.Call) {
	call.Req = c.list[c.at]
	call.Vars = service.Vars{ID: c.id, HasID: c.ids}
	call.Rec.Step = uint32(c.at)
	call.Rec.SeqID = 0
	call.Rec.Flags &^= sequenceFlags
	if c.ids {
		c.id++
	}
	c.at += c.stride
	if c.at >= len(c.list) {
		c.at -= len(c.list)
	}
}
