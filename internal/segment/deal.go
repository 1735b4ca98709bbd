package segment

// Deal gives an endless row of things to the segments by lanes: thing k belongs to lane k mod Lanes, and lane g to the segment
// that has number g. Lanes are what the things need, such as slots or sequences: a segment with 4 of 10 slots gets 4 of 10
// requests, and one without a slot gets none.
type Deal struct {
	Segment Segment
	Lanes   int
}

// Over deals a row over lanes, at least one.
func (s Segment) Over(lanes int) Deal { return Deal{s, max(1, lanes)} }

// Even deals a row so that all segments have equal parts.
func (s Segment) Even() Deal { return Deal{s, s.Parts()} }

// Own is how many lanes the segment has. Own of Lanes is the segment's exact share of a rate.
func (d Deal) Own() int { return d.Segment.Share(d.Lanes) }

// Idle tells whether the segment gets nothing of the row.
func (d Deal) Idle() bool { return d.Own() == 0 }

// Count is how many of the first n things of the row the segment has.
func (d Deal) Count(n int) int { return n/d.Lanes*d.Own() + d.Segment.Share(n%d.Lanes) }

// Number is the place in the whole row of thing j of the segment, which must not be idle.
func (d Deal) Number(j int) int {
	own := d.Own()
	return j/own*d.Lanes + d.Segment.Number(j%own)
}

// Rate is the segment's part of a rate, for reports. Schedules do not use it: see Number.
func (d Deal) Rate(whole float64) float64 {
	if d.Segment.Whole() {
		return whole
	}
	return whole * float64(d.Own()) / float64(d.Lanes)
}
