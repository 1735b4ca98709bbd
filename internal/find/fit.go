package find

import (
	"time"
)

// left is the time that is left of the budget.
func (s *Search) left() time.Duration {
	if s.conf.Budget == 0 {
		return forever
	}
	return s.conf.Budget - s.now
}

// drainTime is how long the requests in flight may go on after a load of a duration.
func (s *Search) drainTime(load time.Duration) time.Duration {
	if s.conf.Budget == 0 {
		return mostDrain
	}
	most := min(mostDrain, max(s.conf.Budget/drainShare, leastDrain))
	return min(max(s.left()-load, leastDrain), most)
}

// overhead is the time of a probe that is not measured: until it settles, and for the drain, by the drains so far.
func (s *Search) overhead(settle time.Duration) time.Duration {
	if s.drained.count == 0 {
		return settle
	}
	return settle + s.drained.time/time.Duration(s.drained.count)
}

// outOfTime tells whether no further probe fits into the budget.
func (s *Search) outOfTime() bool { return s.left() < s.conf.Settle+s.conf.MinTime }

// fit chooses the time of a probe, given the time that is left for its tier: a third of the budget is for the confirmation, and of the
// rest a bracket uses a quarter for each load at most, and a bisection half.
func (s *Search) fit(r *request, left time.Duration) {
	c := &s.conf
	r.settle = c.Settle
	if r.purpose != Bracket {
		r.settle = min(s.settleTime(r), max(c.Settle, left-c.MinTime))
	}
	most := left - r.settle
	if r.purpose == Confirm {
		r.time = max(min(c.Confirm, most), c.MinTime)
		return
	}
	rest := left - s.reserve()
	switch {
	case r.purpose == Bisect && rest < s.overhead(r.settle)+c.MinTime: // the last probe uses all that is left
		r.load, r.purpose, r.time = s.confirmLoad(r.tier), Confirm, max(most, c.MinTime)
		return
	case r.purpose == Bracket || s.wide(r.tier):
		rest /= 4
	case rest/2 >= max(overheadTimes*s.overhead(r.settle), s.overhead(r.settle)+2*c.MinTime):
		rest /= 2
	}
	r.time = min(max(rest-s.overhead(r.settle), c.MinTime), c.MaxTime, most)
}

// settleTime is how long a probe near the capacity settles: three responses, as long as they take at the highest load that held.
func (s *Search) settleTime(r *request) time.Duration {
	var response time.Duration
	load := 0.0
	for _, p := range s.counted() {
		if p.Judgments[r.tier].Verdict == Holds && p.Load >= load {
			load, response = p.Load, p.response
		}
	}
	settle := max(s.conf.Settle, settleResponses*response)
	if s.conf.Budget > 0 {
		settle = min(settle, max(s.conf.Settle, s.conf.Budget/settleShare))
	}
	return settle
}

// reserve is the time that is kept for the confirmation of a tier.
func (s *Search) reserve() time.Duration {
	if s.conf.Budget == 0 {
		return 0
	}
	return s.overhead(s.conf.Settle) + min(s.conf.Confirm, time.Duration(confirmShare*float64(s.conf.Budget))/time.Duration(len(s.tiers)))
}

// Remaining is how much longer the search takes at most; 0 where it has no budget.
func (s *Search) Remaining() time.Duration {
	if s.state != Searching || s.conf.Budget == 0 {
		return 0
	}
	return max(0, s.left())
}
