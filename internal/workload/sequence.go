package workload

import (
	"cmp"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/redline-bench/redline/internal/minstd"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/segment"
	"github.com/redline-bench/redline/internal/service"
)

// Sequences is what the sequences of a run share: the counter of ids, and the ids that are in use.
type Sequences struct {
	r       *Requests
	in      plan.Input
	counter atomic.Uint64
	held    []atomic.Uint64 // the id that each slot used last
	mu      sync.Mutex      // taken once the counter has gone through its range

	drawing sync.Mutex
	draws   minstd.Source // which stream the next sequence takes
	lengths *minstd.Rand  // how long it is
}

// ownIDs is how many ids a run has that chose its range itself. They stay below 1<<31, for models that take the id
// as a 32-bit number.
const ownIDs = 1 << 30

// Sequences makes room for the sequences of that many slots. part is the segment of the load that has these slots: it has its own
// part of the range of ids, and draws for itself.
func (r *Requests) Sequences(slots int, part segment.Segment) *Sequences {
	s := &Sequences{r: r, in: r.d.in, held: make([]atomic.Uint64, slots)}
	seed := part.Seed(s.in.Seed)
	s.draws, s.lengths = minstd.New(seed), minstd.NewRand(seed)
	for range r.d.randomBytes() { // the random data of inputs is drawn from the same generator, before
		s.lengths.Next()
	}
	s.setIDs(part)
	return s
}

// setIDs sets the range of ids. Ranges of segments do not meet, also where they are chosen at random: then each segment has a
// range of its own to choose from, twice as long as what it uses.
func (s *Sequences) setIDs(part segment.Segment) {
	if s.in.SequenceStartID != 0 || s.in.SequenceIDRange != 0 {
		if s.in.SequenceIDRange != 0 || !part.Whole() {
			first, count := part.Block(cmp.Or(s.in.SequenceIDRange, ownIDs))
			s.in.SequenceStartID, s.in.SequenceIDRange = s.in.SequenceStartID+first, count
		}
		return
	}
	first, count := part.Block(2*ownIDs - 2)
	s.in.SequenceStartID, s.in.SequenceIDRange = 1+first+rand.Uint64N(count/2), count/2
}

// draw chooses one of n streams.
func (s *Sequences) draw(n int) int {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	return s.draws.Below(n)
}

// length chooses how long a sequence is.
func (s *Sequences) length() int {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	return vary(s.in.SequenceLength, s.in.SequenceLengthVariation, 2*float64(s.lengths.Next())/minstd.RandMax-1)
}

// SequenceCursor names the requests of one slot, which runs one sequence after the other. One goroutine at a
// time may use it.
type SequenceCursor struct {
	all       *Sequences
	slot      int
	id        uint64 // request id
	ids       bool
	seq       uint64
	stream    *span
	length    int
	remaining int
}

// Cursor makes the cursor of a slot. With ids each call carries a request id: the number of the slot's thread and a count
// of the slot. Slots of one thread have the same ids, which does not matter where each slot has its own calls and its own
// stream.
func (s *Sequences) Cursor(slot, thread int, ids bool) *SequenceCursor {
	return &SequenceCursor{
		all:  s,
		slot: slot,
		id:   uint64(thread) << counterBits,
		ids:  ids,
	}
}

// Restart counts request ids from the first one again. Sequence ids go on.
func (c *SequenceCursor) Restart() { c.id = c.id >> counterBits << counterBits }

// Next sets up call for the next request of the slot's sequence, or for the first of a new one.
func (c *SequenceCursor) Next(call *service.Call) {
	start := c.remaining == 0
	if start {
		c.begin()
	}
	c.set(call, start)
}

// Close sets up call for one last request that ends the slot's sequence, and tells whether one was open.
func (c *SequenceCursor) Close(call *service.Call) bool {
	if c.remaining == 0 {
		return false
	}
	c.remaining = 1
	c.set(call, false)
	return true
}

// Open tells whether the slot's sequence has not been ended.
func (c *SequenceCursor) Open() bool { return c.remaining > 0 }

func (c *SequenceCursor) set(call *service.Call, start bool) {
	end := c.remaining == 1
	step := c.stream.first + (c.length-c.remaining)%c.stream.count
	call.Req = c.all.r.list[step]
	call.Vars = service.Vars{ID: c.id, HasID: c.ids, SeqID: c.seq, Start: start, End: end, Present: true}
	call.Rec.Step = uint32(step)
	call.Rec.SeqID = c.seq
	call.Rec.Flags &^= sequenceFlags
	if start {
		call.Rec.Flags |= record.SequenceStart
	}
	if end {
		call.Rec.Flags |= record.SequenceEnd
	}
	if c.ids {
		c.id++
	}
	c.remaining--
}

// begin chooses the id, the stream and the length of a new sequence. Data from files gives the length by the
// number of its steps, unless the user asks for a length: then the steps are taken around.
func (c *SequenceCursor) begin() {
	all := c.all
	c.seq = all.claim(c.slot)
	c.stream = &all.r.streams[0]
	if n := len(all.r.streams); n > 1 {
		c.stream = &all.r.streams[all.draw(n)]
	}
	c.length = c.stream.count
	if !all.r.d.FromJSON || all.in.SequenceLengthSet {
		c.length = all.length()
	}
	c.remaining = c.length
}

// vary is length + trunc(u * variation% of length), at least 1, for a u in [-1, 1].
func vary(length int, variation, u float64) int {
	return max(1, length+int(math.Trunc(u*variation/100*float64(length))))
}

// claim gives the slot the next id of the range. One that another slot still has is not given twice: the slot
// then keeps the one it had. A slot that never had one looks further. Until the counter has gone through the
// range once, no id can be in use.
func (s *Sequences) claim(slot int) uint64 {
	id, first := s.nextID()
	if !first {
		s.mu.Lock()
		defer s.mu.Unlock()
		if had := s.held[slot].Load(); had != 0 && s.inUse(id) {
			return had
		}
		for range s.held {
			if !s.inUse(id) {
				break
			}
			id, _ = s.nextID()
		}
	}
	s.held[slot].Store(id)
	return id
}

// nextID counts one id further, and tells whether it comes for the first time.
func (s *Sequences) nextID() (id uint64, first bool) {
	n := s.counter.Add(1) - 1
	if s.in.SequenceIDRange == 0 || n < s.in.SequenceIDRange {
		return s.in.SequenceStartID + n, true
	}
	return s.in.SequenceStartID + n%s.in.SequenceIDRange, false
}

func (s *Sequences) inUse(id uint64) bool {
	for i := range s.held {
		if s.held[i].Load() == id {
			return true
		}
	}
	return false
}
