package find

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	mostTries    = 3   // probes of one load that other loads contradict
	mostConfirms = 5   // confirmations at loads that hold
	moreConfirms = 3   // confirmations of an answer that is far below the best estimate
	farSteps     = 1.5 // steps of the resolution that are far
	mostProbes   = 40  // of a tier
	reachSteps   = 2.5 // steps of the resolution below the bracket in which the answer is looked for
)

// level is a load that was probed, with the judgment that all its probes lead to.
type level struct {
	load   float64
	probes []*Probe
	Judgment
}

// levels are the loads that a verdict is known of, in ascending order. The probes around a load that is not decided give its verdict
// where they tell more than its own, and more than a standard error.
func (s *Search) levels(tier int) []level {
	byLoad := map[float64][]*Probe{}
	probes := s.probes
	if s.state == Failed && len(probes) > 0 && s.mayBeDown() {
		probes = probes[:len(probes)-1] // the server went down and stayed down: that says nothing about the load
	}
	for _, p := range probes {
		if p.End != Running && p.End != Stopped {
			byLoad[p.Load] = append(byLoad[p.Load], p)
		}
	}
	var out []level
	for load, probes := range byLoad {
		j := s.judge(probes, tier)
		if j.Verdict == Unknown {
			continue
		}
		if margin, _ := s.around(load, tier); !j.Decided && math.Abs(margin) > max(1, math.Abs(j.margin)) {
			j.Verdict = Holds
			if margin < 0 {
				j.Verdict = Fails
			}
		}
		out = append(out, level{load, probes, j})
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
	load, _, more = s.candidate(levels, tier)
	return load, Confirm, more
}

// candidate is the load of the answer, where its confirmation is over, or the load of the next confirmation (more). The answer is the
// highest confirmed load, unless the probes show that a load more than one step of the resolution above holds, too, or are too uncertain. After
// some confirmations without success it is the lowest load that was tried.
func (s *Search) candidate(levels []level, tier int) (load float64, confirmed, more bool) {
	low, high := edges(levels)
	reach, ok := s.reach(levels, low, high, tier)
	lowest := s.lowestAnswer(low) * (1 - s.conf.Resolution) // below may go so far
	var tried []float64
	runs := 0
	for _, l := range levels {
		confirmations := l.confirmations()
		if confirmations == nil || l.load > low.load || l.load < lowest {
			continue
		}
		tried = append(tried, l.load)
		runs += len(confirmations)
		if margin, complete := s.around(l.load, tier); margin >= confirmDeviations && s.judge(confirmations, tier).margin >= 0 {
			load, confirmed = l.load, complete
		}
	}
	switch {
	case load > 0 && (!ok || runs >= mostConfirms || reach <= load*(1+s.conf.Resolution) && (runs >= moreConfirms || !s.farBelow(load, high, tier))):
		return load, confirmed, false
	case runs >= mostConfirms:
		return tried[0], false, false
	case ok:
		return reach, false, true
	case runs == 0:
		return low.load, false, true
	}
	if load = s.below(levels, tried[0]); load >= lowest && load < tried[0] {
		return load, false, true
	}
	return tried[0], false, false
}

// farBelow tells whether a load far above a confirmed one is more likely to hold than not. Another confirmation then makes the probes more
// certain.
func (s *Search) farBelow(load float64, high *level, tier int) bool {
	above := s.round(load * (1 + farSteps*s.conf.Resolution))
	if high == nil || above <= load || above >= high.load {
		return false
	}
	margin, _ := s.around(above, tier)
	return margin > 0
}

// confirmations are the probes of a load that confirmed it or did not.
func (l *level) confirmations() (out []*Probe) {
	for _, p := range l.probes {
		if p.Purpose == Confirm && p.steady() {
			out = append(out, p)
		}
	}
	return out
}

// reach is the highest load near the bracket that keeps from the limits by confirmDeviations; ok is false where there is none. It lies
// above the lower end of the bracket only where the upper end is not decided.
func (s *Search) reach(levels []level, low, high *level, tier int) (load float64, ok bool) {
	step := 1 + s.conf.Resolution/4
	load = low.load
	if high != nil && !high.Decided {
		load = max(load, s.round(high.load/step))
	}
	for ; load >= s.lowestAnswer(low); load = s.round(load / step) {
		at, held := heldAbove(levels, load/step, load)
		if !held || at < s.lowestAnswer(low) {
			at = load
		}
		if margin, _ := s.around(at, tier); margin >= confirmDeviations {
			return at, true
		}
	}
	return 0, false
}

// lowestAnswer is the lowest load that may be the answer, given the lower end of the bracket. The next lower whole load always may.
func (s *Search) lowestAnswer(low *level) float64 {
	lowest := low.load * (1 - reachSteps*s.conf.Resolution)
	if s.conf.Whole {
		lowest = min(lowest, low.load-1)
	}
	return max(s.conf.Lowest, lowest)
}

// heldAbove is the highest load that holds between two loads, which may be most but not least; ok is false where there is none.
func heldAbove(levels []level, least, most float64) (load float64, ok bool) {
	for _, l := range slices.Backward(levels) {
		if l.load <= most && l.load > least && l.Verdict == Holds {
			return l.load, true
		}
	}
	return 0, false
}

// below is the load half a step of the resolution lower; a load that holds nearby is taken instead.
func (s *Search) below(levels []level, load float64) float64 {
	down := max(s.round(load/(1+s.conf.Resolution/2)), s.conf.Lowest)
	if held, ok := heldAbove(levels, down*(1-s.conf.Resolution/4), math.Nextafter(load, 0)); ok {
		return held
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
