package measure

import (
	"time"

	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/result"
)

// span records the first send and the last ends of a load with a fixed number of requests.
type span struct {
	firstSent, firstEnd, lastEnd, lastDue, lastSent int64
	ends                                            []int64 // last end by slot
	ended                                           uint64
	began                                           uint64 // requests that were sent in the window, ended or not
}

// send notes a request that was sent in the window.
func (s *span) send(due, sent int64) {
	s.began++
	s.lastDue, s.lastSent = max(s.lastDue, due), max(s.lastSent, sent)
}

func (s *span) add(r *record.Record) {
	if s.ended == 0 || r.Sent < s.firstSent {
		s.firstSent = r.Sent
	}
	if s.ended == 0 || r.End < s.firstEnd {
		s.firstEnd = r.End
	}
	s.ended++
	s.lastEnd = max(s.lastEnd, r.End)
	for len(s.ends) <= int(r.Slot) {
		s.ends = append(s.ends, 0)
	}
	s.ends[r.Slot] = max(s.ends[r.Slot], r.End)
}

// merge takes all of o in.
func (s *span) merge(o *span) {
	s.began += o.began
	s.lastDue, s.lastSent = max(s.lastDue, o.lastDue), max(s.lastSent, o.lastSent)
	if o.ended == 0 {
		return
	}
	if s.ended == 0 {
		s.firstSent, s.firstEnd = o.firstSent, o.firstEnd
	}
	s.firstSent, s.firstEnd = min(s.firstSent, o.firstSent), min(s.firstEnd, o.firstEnd)
	s.ended += o.ended
	s.lastEnd = max(s.lastEnd, o.lastEnd)
	for len(s.ends) < len(o.ends) {
		s.ends = append(s.ends, 0)
	}
	for i, end := range o.ends {
		s.ends[i] = max(s.ends[i], end)
	}
}

// slotTime is the time, summed over the slots, from the first send to the last end of each slot: after that a slot of a
// load with a fixed number of requests has nothing more to send.
func (s *span) slotTime() (sum time.Duration, slots int) {
	for _, end := range s.ends {
		if end > 0 {
			sum += time.Duration(end - s.firstSent)
			slots++
		}
	}
	return sum, slots
}

// Steady sets the rates of c for a load with a fixed number of requests. The rates must not depend on how long the first
// and the last response took.
//
// In open loop rates cover the time from the first end to the last, in which all requests except the first ended. In closed
// loop the time of a slot is from the first send to its own last end, and the time of the load is the mean over the slots.
func (w *Window) Steady(c *result.Client) {
	s := &w.span
	d := time.Duration(s.lastEnd - s.firstSent)
	sum, slots := s.slotTime()
	switch n := float64(s.ended); {
	case !w.setup.Open && slots > 0:
		d = sum / time.Duration(slots)
	case n > 1 && s.lastEnd > s.firstEnd:
		d = time.Duration(float64(s.lastEnd-s.firstEnd) * n / (n - 1))
	}
	w.rates(c, d)
}

// FixedLoad completes l for a load with a fixed number of requests, whose schedule, if any, began at start. Rates end with
// the last send, and in closed loop a slot counts until its own last end: neither includes the wait for the last response.
func (w *Window) FixedLoad(l *Load, start int64) {
	s := &w.span
	if sum, slots := s.slotTime(); l.Concurrency > 0 && slots > 0 {
		l.Concurrency = min(l.Concurrency, slots)
		l.FlightTime = sum / time.Duration(slots)
	}
	if w.setup.Open {
		l.paced(float64(s.began), start, s.lastDue, s.lastSent)
	}
}
