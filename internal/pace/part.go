package pace

import (
	"time"

	"github.com/redline-bench/redline/internal/segment"
)

// part yields the arrivals of a schedule that belong to one segment.
type part struct {
	whole Schedule
	deal  segment.Deal
	j     int // arrivals of the segment so far
	k     int // arrivals of the whole so far
}

// Part is the part of a schedule that a segment has. Each arrival keeps its time.
func Part(whole Schedule, deal segment.Deal) Schedule {
	switch {
	case deal.Segment.Whole():
		return whole
	case deal.Idle():
		return Fixed(nil)
	}
	return &part{whole: whole, deal: deal}
}

// skipper is a schedule that may be able to pass over arrivals at once; skip returns false if it cannot.
type skipper interface {
	skip(n int) bool
}

func (p *part) Next() (time.Duration, bool) {
	next := p.deal.Number(p.j)
	p.j++
	if s, ok := p.whole.(skipper); ok && s.skip(next-p.k) {
		p.k = next
	}
	for ; p.k < next; p.k++ {
		if _, ok := p.whole.Next(); !ok {
			return 0, false
		}
	}
	p.k++
	return p.whole.Next()
}
