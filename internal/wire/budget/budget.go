// Package budget bounds the memory that the responses of one run take at once, over all of its connections. Limits on one
// response are not enough for that: a thousand connections may each hold one.
//
// A connection has a Share for each of its buffers and says how large the buffer is before it grows. Small buffers are
// free, so a run with small responses never touches what the connections have in common.
package budget

import (
	"strconv"
	"sync/atomic"
)

// Budget is what all shares may hold together. A nil Budget has no limit.
type Budget struct {
	base, each int64
	most, held atomic.Int64
}

// New makes a budget of base bytes, or of each bytes for every request in flight where that is more.
func New(base, each int64) *Budget {
	b := &Budget{base: base, each: each}
	b.most.Store(base)
	return b
}

// Requests says how many requests may be in flight.
func (b *Budget) Requests(n int) {
	if b != nil {
		b.most.Store(max(b.most.Load(), b.each*int64(n)))
	}
}

// String is the text of a failure for which there was no room.
func (b *Budget) String() string {
	return "the responses in flight take more than " + strconv.FormatInt(b.most.Load(), 10) + " bytes together"
}

// tight tells whether more than half of the budget is in use.
func (b *Budget) tight() bool { return b != nil && b.held.Load() > b.most.Load()/2 }

// free is the size up to which a buffer is not counted; step is how it grows in the books above that.
const (
	free = 64 << 10
	step = 64 << 10
)

// Share is the part of a budget that one buffer holds. Its zero value has no limit. Only one goroutine at a time may use it.
type Share struct {
	b    *Budget
	held int64
}

// Share makes an empty share.
func (b *Budget) Share() Share { return Share{b: b} }

// Hold says that the buffer takes n bytes from now on. It returns false, and changes nothing, where that is too much.
func (s *Share) Hold(n int64) bool {
	if s.b == nil {
		return true
	}
	if n <= free {
		n = 0
	}
	n = (n + step - 1) / step * step
	more := n - s.held
	if more == 0 {
		return true
	}
	if total := s.b.held.Add(more); more > 0 && total > s.b.most.Load() {
		s.b.held.Add(-more)
		return false
	}
	s.held = n
	return true
}

// Release says that the buffer is gone.
func (s *Share) Release() { s.Hold(0) }

// Spare tells whether a buffer that is not in use should be freed: it is counted, and others may need the room.
func (s *Share) Spare() bool { return s.held > 0 && s.b.tight() }

// Over is the text of a failure for which there was no room.
func (s *Share) Over() string { return s.b.String() }
