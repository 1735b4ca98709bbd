package plan

import "github.com/redline-bench/redline/internal/segment"

// Arrivals says which arrivals of an open loop this process sends. Those of sequences go with the sequences. Others are dealt evenly;
// those of synchronous calls only to segments that have one of the threads.
func (p *Plan) Arrivals(sequences, async bool) segment.Deal {
	switch {
	case sequences:
		return p.Segment.Over(p.Input.Sequences)
	case !async:
		return p.Segment.AtMost(p.Load.MaxThreads)
	}
	return p.Segment.Even()
}
