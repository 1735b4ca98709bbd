package find

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	mostTries  = 3  // probes of one load that other loads contradict
	mostDown   = 5  // loads that are tried for a confirmation
	mostProbes = 40 // of a tier
)

// level is a load that was probed, with the judgment that all its probes lead to.
type level struct {
	load   float64
	probes []*Probe
	Judgment
}

// levels are the loads that a verdict is known of, in ascending order.
func (s *Search) levels(tier int) []level {
	byLoad := map[float64][]*Probe{}
	for _, p := range s.probes {
		if p.End != Running && p.End != Stopped {
			byLoad[p.Load] = append(byLoad[p.Load], p)
		}
	}
	var out []level
	for load, probes := range byLoad {
		if j := s.judge(probes, tier); j.Verdict != Unknown {
			out = append(out, level{load, probes, j})
		}
	}
	slices.SortFunc(out, func(a, b level) int { return cmp.Compare(a.load, b.load) })
	return out
}

// edges are the ends of the bracket: high is the lowest load that does not hold, low the highest that holds below it.
func edges(levels []level) (low, high *level) {
	for i := range levels {
		if levels[i].Verdict != Holds {
			return low, &levels[i]
		}
		low = &levels[i]
	}
	return low, nil
}

// contradicted finds a load to probe again where a load holds for sure above one that does not: the one with the weaker
// evidence, unless it was tried often enough. When both were, the lower load keeps its verdict.
func contradicted(levels []level, high *level) *level {
	for i := range levels {
		above := &levels[i]
		if high == nil || above.load <= high.load || above.Verdict != Holds || !above.Decided {
			continue
		}
		weak, strong := high, above
		if math.Abs(above.margin) < math.Abs(high.margin) {
			weak, strong = above, high
		}
		for _, l := range []*level{weak, strong} {
			if len(l.probes) < mostTries {
				return l
			}
		}
	}
	return nil
}

// request is a probe to run.
type request struct {
	load    float64
	purpose Purpose
	tier    int
}

// next is the next probe of the first tier that is not done; ok is false where all are.
func (s *Search) next() (r request, ok bool) {
	for t := range s.tiers {
		if load, purpose, more := s.nextOf(t); more {
			return request{load, purpose, t}, true
		}
	}
	return request{}, false
}

// nextOf is the next probe of a tier, a function of the evidence alone.
func (s *Search) nextOf(tier int) (load float64, purpose Purpose, more bool) {
	levels := s.levels(tier)
	low, high := edges(levels)
	if again := contradicted(levels, high); again != nil {
		return again.load, Recheck, true
	}
	switch c := &s.conf; {
	case high != nil && high.Verdict == AtClient && len(high.probes) == 1: // a short disturbance looks the same
		return high.load, Recheck, true
	case low == nil && high == nil:
		return c.Start, Bracket, true
	case high == nil && low.load < c.Highest:
		return min(low.load*c.Growth, c.Highest), Bracket, true
	case low == nil && high.load > c.Lowest:
		return max(s.round(high.load/c.Growth), c.Lowest), Bracket, true
	case low != nil && high != nil && !s.narrow(low.load, high.load):
		return s.middle(low.load, high.load), Bisect, true
	case high != nil && !s.verified(high):
		return high.load, Recheck, true
	case low == nil, high != nil && high.Verdict == AtClient:
		return 0, "", false
	}
	load, _, more = s.candidate(levels, low.load, tier)
	return load, Confirm, more
}

// candidate is the highest load at or below low that is confirmed, or one that has yet to be (more). After some steps
// down it stays at the last load.
func (s *Search) candidate(levels []level, low float64, tier int) (load float64, confirmed, more bool) {
	load = low
	for step := range mostDown {
		var runs []*Probe
		for _, p := range s.probes {
			if p.Load == load && p.Purpose == Confirm && p.End == TimeOver {
				runs = append(runs, p)
			}
		}
		if runs == nil {
			return load, false, true
		}
		if j := s.judge(runs, tier); j.margin >= confirmDeviations {
			return load, j.complete, false
		}
		if load > s.conf.Lowest && step < mostDown-1 {
			load = s.below(levels, load)
		}
	}
	return load, false, false
}

// below is the load half a step of the resolution lower; a load that holds nearby is taken instead.
func (s *Search) below(levels []level, load float64) float64 {
	down := max(s.round(load/(1+s.conf.Resolution/2)), s.conf.Lowest)
	for _, l := range slices.Backward(levels) {
		if l.load < load && l.load > down*(1-s.conf.Resolution/4) && l.Verdict == Holds {
			return l.load
		}
	}
	return down
}

// verified tells whether the load was probed for the full time, or more than once.
func (s *Search) verified(l *level) bool {
	var measured time.Duration
	for _, p := range l.probes {
		measured += p.measured
	}
	return len(l.probes) > 1 || measured >= s.conf.MaxTime
}

func (s *Search) narrow(low, high float64) bool {
	return s.conf.Whole && high-low <= 1 || high <= low*(1+s.conf.Resolution)
}

// middle is the geometric middle of the bracket.
func (s *Search) middle(low, high float64) float64 {
	mid := math.Sqrt(low * high)
	if s.conf.Whole {
		return max(math.Floor(mid), low+1)
	}
	return mid
}

// round rounds whole loads down.
func (s *Search) round(load float64) float64 {
	if s.conf.Whole {
		return math.Floor(load)
	}
	return load
}

// Remaining is an estimate of the time that the rest of the search takes, if every probe uses its full time.
func (s *Search) Remaining() time.Duration {
	if s.state != Searching {
		return 0
	}
	var rest time.Duration
	for t := range s.tiers {
		_, purpose, more := s.nextOf(t)
		if more {
			rest += s.conf.Settle + s.conf.Confirm
		}
		if !more || purpose == Confirm {
			continue
		}
		width := math.Log(s.conf.Growth)
		if low, high := edges(s.levels(t)); low != nil && high != nil {
			width = math.Log(high.load / low.load)
		}
		steps := math.Ceil(math.Log2(max(1, width/math.Log1p(s.conf.Resolution))))
		rest += time.Duration(steps+1) * (s.conf.Settle + s.conf.MaxTime)
	}
	return rest
}
