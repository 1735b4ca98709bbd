package plan

import "github.com/redline-bench/redline/internal/segment"

// Arrivals says which arrivals of an open loop this process sends. Those of sequences go with the sequences, others are dealt evenly.
// Synchronous calls go only to segments that have one of the threads.
func (p *Plan) Arrivals(sequences, async bool) segment.Deal {
	part := p.Segment
	if !async {
		part = part.Among(p.Load.MaxThreads)
	}
	if sequences {
		return part.Over(p.Input.Sequences)
	}
	return part.Even()
}
