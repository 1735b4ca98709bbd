package find

import (
	"math"
	"slices"
	"time"
)

const (
	mostProbes      = 40 // of a tier
	mostConfirms    = 2
	toldProbes      = 3
	sameProbes      = 6   // of one load, sure or not
	farFactor       = 5.0 // an objective that is kept by it is far from its limit
	growth          = 2.0
	flatShare       = 0.8
	farGrowth       = 4.0
	nearGrowth      = 1.25
	nearBelief      = 0.15 // that the next load holds, where the limit is near
	confirmBelief   = 0.9  // that the load of a confirmation holds
	answerBelief    = 0.75
	confirmShare    = 1.0 / 3 // of the budget that a confirmation takes
	confirmedLeast  = 0.95    // belief in a confirmed load
	wideRatio       = 3.0     // of the ends of an interval that a short probe narrows as well as a long one
	clientStep      = 1.05    // ratio of a load that holds and one at which the client is the limit, at which the search ends
	forever         = 1000 * time.Hour
	mostDrain       = 30 * time.Second
	drainShare      = 10 // of the budget
	leastDrain      = time.Second
	settleResponses = 2
	settleShare     = 12
	overheadTimes   = 3 // of the overhead of a probe that a bisection lasts, if there is time
)

// request is a probe to run.
type request struct {
	load    float64
	purpose Purpose
	tier    int
	settle  time.Duration
	time    time.Duration // measured at most
}

// next is the next probe of the first tier that is not done; ok is false where all are, or the time is over.
func (s *Search) next() (r request, ok bool) {
	if s.outOfTime() || len(s.probes) >= mostProbes*len(s.tiers) {
		return request{}, false
	}
	open := 0
	for t := range s.tiers {
		load, purpose, more := s.nextOf(t)
		if !more {
			continue
		}
		if open++; open == 1 {
			r, ok = request{load: load, purpose: purpose, tier: t}, true
		}
	}
	if ok {
		s.fit(&r, s.left()/time.Duration(open))
	}
	return r, ok
}

// held is the highest load that held by its values; 0 where there is none.
func (s *Search) held(tier int) float64 {
	held := 0.0
	for _, p := range s.counted() {
		if p.Judgments[tier].Verdict == Holds {
			held = max(held, p.Load)
		}
	}
	return held
}

// failed is the lowest load that did not hold; 0 where there is none.
func (s *Search) failed(tier int) float64 {
	if p := s.failing(0, tier); p != nil {
		return p.Load
	}
	return 0
}

// lowestFull is the first probe with the lowest load at which the client was the limit; nil where there is none. A load that the client
// could send before or later, or a higher one that held, shows that it was only disturbed.
func (s *Search) lowestFull() *Probe {
	var out *Probe
	for _, p := range s.probes {
		if p.End == ClientFull && (out == nil || p.Load < out.Load) && !s.sent(p.Load) {
			out = p
		}
	}
	return out
}

// sent tells whether the client could send a load: a probe of it counts, or one of a higher load held.
func (s *Search) sent(load float64) bool {
	return slices.ContainsFunc(s.counted(), func(p *Probe) bool {
		return p.Load == load || p.Load > load && slices.ContainsFunc(p.Judgments, func(j Judgment) bool { return j.Verdict == Holds })
	})
}

// wall is the lowest load at which the client was the limit, and how often it was; 0 where there is none.
func (s *Search) wall() (load float64, times int) {
	first := s.lowestFull()
	if first == nil {
		return 0, 0
	}
	for _, p := range s.probes {
		if p.End == ClientFull && p.Load == first.Load {
			times++
		}
	}
	return first.Load, times
}

// nextOf is the next probe of a tier, a function of the evidence alone.
func (s *Search) nextOf(tier int) (load float64, purpose Purpose, more bool) {
	c := &s.conf
	held, failed := s.held(tier), s.failed(tier)
	wall, walls := s.wall()
	switch {
	case held == 0 && failed == 0 && wall == 0:
		return c.Start, Bracket, true
	case wall > 0 && walls == 1 && (failed == 0 || wall < failed): // a short disturbance looks the same
		return wall, Bracket, true
	case wall > 0 && failed == 0 && held == 0 && wall > c.Lowest:
		return max(s.round(wall/growth), c.Lowest), Bracket, true
	case wall > 0 && failed == 0 && held == 0:
		return 0, "", false
	case wall > held && failed == 0 || wall > held && wall < failed && s.belief(tier).likely(0.5) > wall:
		if s.adjacent(held, wall) || wall <= held*clientStep {
			return 0, "", false
		}
		return s.middle(held, wall), Bracket, true
	case failed == 0 && held < c.Highest:
		return min(s.round(held*s.grow(tier)), c.Highest), Bracket, true
	case held == 0 && failed > c.Lowest:
		return max(s.round(failed/s.shrink()), c.Lowest), Bracket, true
	case held == 0:
		return c.Lowest, Bracket, !s.sure(c.Lowest, tier)
	case failed > 0 && !s.narrow(tier) && !s.told(s.bisect(tier), tier):
		return s.bisect(tier), Bisect, true
	}
	load = s.confirmLoad(tier)
	done, runs := s.confirmed(tier)
	return load, Confirm, !done && runs < mostConfirms
}

// grow is the factor from a load that holds to the next one.
func (s *Search) grow(tier int) float64 {
	if s.conf.Growth > 0 {
		return s.conf.Growth
	}
	headroom, before := 0.0, 0.0
	for _, p := range s.counted() {
		if h := p.Judgments[tier].headroom; p.Load == s.held(tier) {
			if headroom = h; !p.Last.steady() {
				return growth
			}
		} else {
			before = max(before, h)
		}
	}
	if headroom > 0 && headroom < farHeadroom && !s.conf.Whole { // the limit is near
		return min(max(s.belief(tier).likely(nearBelief)/s.held(tier), nearGrowth), growth)
	}
	if headroom >= farFactor || headroom >= farHeadroom && before > 0 && headroom >= flatShare*before {
		return farGrowth
	}
	return growth
}

// shrink is the factor from a load that fails to the next one.
func (s *Search) shrink() float64 {
	if s.conf.Growth > 0 {
		return s.conf.Growth
	}
	return growth
}

// sure tells whether a load was decided, or probed for long enough.
func (s *Search) sure(load float64, tier int) bool {
	var measured time.Duration
	for _, p := range s.counted() {
		if p.Load != load {
			continue
		}
		if measured += p.measured; p.Judgments[tier].Decided {
			return true
		}
	}
	return measured >= s.conf.MaxTime
}

// told tells whether a load was decided so often that one more probe tells nothing new. A load that is undecided again and again is
// too near to the limit.
func (s *Search) told(load float64, tier int) bool {
	same, decided := 0, 0
	for _, p := range s.counted() {
		if p.Load != load {
			continue
		}
		if same++; p.Judgments[tier].Decided {
			decided++
		}
	}
	return decided >= toldProbes || same >= sameProbes
}

// bisect is the load that the capacity is as likely above as below.
func (s *Search) bisect(tier int) float64 {
	load := s.belief(tier).likely(0.5)
	if s.conf.Whole { // the ends of the interval tell nothing new
		iv := s.interval(tier)
		load = max(min(math.Floor(load), iv.High-1), iv.Low+1)
	}
	return min(max(load, s.conf.Lowest), s.conf.Highest)
}

// confirmLoad is the highest load that is likely to hold.
func (s *Search) confirmLoad(tier int) float64 {
	b := s.belief(tier)
	if s.failed(tier) == 0 {
		return s.conf.Highest
	}
	load := s.round(b.likely(confirmBelief))
	if s.conf.Whole {
		load = max(load, s.interval(tier).Low)
	}
	for _, p := range s.counted() { // one that has held already is taken instead
		if p.Purpose == Confirm && p.Judgments[tier].Verdict == Holds && s.likelyHolds(p.Load, tier) >= confirmBelief && p.Load >= load/(1+s.conf.Resolution) {
			load = p.Load
		}
	}
	return max(load, s.conf.Lowest)
}

// confirmed tells whether a confirmation held a load that is still likely to hold, and how many confirmations there were.
func (s *Search) confirmed(tier int) (done bool, runs int) {
	for _, p := range s.counted() {
		if p.Purpose != Confirm || p.Tier != tier {
			continue
		}
		runs++
		done = done || p.Judgments[tier].Verdict == Holds && s.likelyHolds(p.Load, tier) >= confirmedLeast
	}
	return done, runs
}

// middle is the geometric middle of two loads.
func (s *Search) middle(low, high float64) float64 {
	mid := math.Sqrt(max(low, s.conf.Lowest) * high)
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
