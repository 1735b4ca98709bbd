package find

import "math"

// likelyHolds is how likely the capacity is at least a load. Between whole loads latency may jump, so those that are decided count alone.
func (s *Search) likelyHolds(load float64, tier int) float64 {
	if s.conf.Whole {
		switch held, failed := s.decidedEnds(tier); {
		case load <= held:
			return 1
		case load >= failed:
			return 0
		}
	}
	return s.belief(tier).holds(load)
}

// decidedEnds are the highest load that is sure to hold and the lowest that is sure to fail; 0 and infinite where there is none, or where the
// probes contradict each other.
func (s *Search) decidedEnds(tier int) (held, failed float64) {
	failed = math.Inf(1)
	for _, p := range s.counted() {
		switch j := &p.Judgments[tier]; {
		case j.Decided && j.Verdict == Holds:
			held = max(held, p.Load)
		case j.Decided && j.Verdict == Fails:
			failed = min(failed, p.Load)
		}
	}
	if held >= failed {
		return 0, math.Inf(1)
	}
	return held, failed
}

// ends are the ends of the interval that holds the capacity with AnswerLevel.
func (s *Search) ends(tier int) (low, high float64) {
	b := s.belief(tier)
	const tail = (1 - AnswerLevel) / 2
	low, high = b.likely(1-tail), b.likely(tail)
	if s.conf.Whole {
		low, high = math.Floor(low), math.Ceil(high)
		if held, failed := s.decidedEnds(tier); !math.IsInf(failed, 1) {
			low, high = held, failed
		} else {
			low, high = max(low, held), max(high, held+1)
		}
	}
	return low, high
}

func (s *Search) wide(tier int) bool {
	low, high := s.ends(tier)
	return high > wideRatio*low
}

// narrow tells whether the interval of the capacity is as narrow as the resolution, or will be after the confirmation.
func (s *Search) narrow(tier int) bool {
	low, high := s.ends(tier)
	if s.conf.Whole { // only loads that were probed are told apart
		iv := s.interval(tier)
		return iv.High-iv.Low <= 1 || iv.High <= iv.Low*(1+2*s.conf.Resolution)
	}
	measured, confirm := 0.0, s.conf.Confirm.Seconds()
	for _, p := range s.counted() {
		switch p.Purpose {
		case Bisect:
			measured += p.measured.Seconds()
		case Confirm:
			measured, confirm = measured+p.measured.Seconds(), 0
		case Bracket:
		}
	}
	if measured == 0 {
		return high <= low*(1+2*s.conf.Resolution)
	}
	return math.Log(high/low)*math.Sqrt(measured/(measured+confirm)) <= math.Log1p(2*s.conf.Resolution)
}

func (s *Search) adjacent(low, high float64) bool { return s.conf.Whole && high-low <= 1 }
