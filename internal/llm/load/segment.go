package load

import (
	"github.com/redline-bench/redline/internal/llm"
	"github.com/redline-bench/redline/internal/segment"
)

// divide makes the bounds of a phase those of this process. Conversations go with what sends them: with slots in a closed loop, with
// users where there are users. Otherwise arrivals and conversations are dealt evenly, to segments that have a place under the limit
// of requests in flight. A segment without a place for a first token has nothing to send.
func (p *phase) divide(part segment.Segment) {
	part = part.Among(p.load.Prefill)
	switch lv := &p.lv; {
	case lv.Users > 0:
		p.deal = part.Over(lv.Users)
	case lv.Open():
		p.deal = part.Among(lv.Concurrency).Even()
	case len(lv.Stages) > 0:
		p.deal = part.Among(mostSessions(lv)).Even()
	default:
		p.deal = part.Over(lv.Concurrency)
	}
	p.none = p.deal.Idle()
	for _, bound := range []*int64{&p.limit, &p.sessions} {
		if *bound > 0 {
			*bound = int64(p.deal.Count(int(*bound)))
			p.none = p.none || *bound == 0
		}
	}
	p.load.Prefill = p.deal.Segment.Share(p.load.Prefill)
}

// mostSessions is the highest number of sessions of a level in stages.
func mostSessions(lv *Level) int {
	most := 1
	for _, s := range lv.Stages {
		most = max(most, int(max(s.From, s.To)+0.5))
	}
	return most
}

// skipper is a Source that can pass over conversations without making them.
type skipper interface {
	Skip(n int)
}

// ownSource is the conversations of a source that belong to this process.
type ownSource struct {
	Source
	deal segment.Deal
	j    int // conversations of this process so far
	k    int // conversations of the whole so far
}

// Next implements Source.
func (s *ownSource) Next() (*llm.Conversation, bool) {
	next := s.deal.Number(s.j)
	s.j++
	if k, ok := s.Source.(skipper); ok {
		k.Skip(next - s.k)
		s.k = next
	}
	for ; s.k < next; s.k++ {
		if _, ok := s.Source.Next(); !ok {
			return nil, false
		}
	}
	s.k++
	return s.Source.Next()
}

// asked is the load that this process is asked for: requests in flight, and requests a second.
func (p *phase) asked() (inFlight, rate float64) {
	return float64(p.deal.Segment.Share(p.lv.Concurrency)), p.deal.Rate(p.lv.Rate)
}
