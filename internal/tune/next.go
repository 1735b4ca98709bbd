package tune

import (
	"cmp"
	"slices"
	"time"
)

const (
	// finalists is how many candidates get a whole search.
	finalists = 4
	// refined is how many candidates are refined at most.
	refined = 8
	// screenShare and climbShare are the shares of the budget that screening the sample, and its neighbors too, may take.
	screenShare = 0.4
	climbShare  = 0.6
)

// advance chooses the next step, a function of the measurements alone.
func (s *Search) advance() {
	if s.reason != "" {
		s.more = false
		return
	}
	next := []func() (Point, Stage, bool){s.nextSample, s.nextClimb, s.nextRefine, s.nextFind, s.nextStep}
	for _, f := range next {
		p, stage, ok := f()
		if !ok {
			continue
		}
		if !s.affords(stage) {
			s.reason = budgetOver
			if stage != Find && s.affords(Find) && s.found() < 1 {
				if p, ok = s.finalist(); ok {
					s.reason = ""
					s.choose(p, Find)
					return
				}
			}
			s.more = false
			return
		}
		s.choose(p, stage)
		return
	}
	s.more = false
	if s.conf.Budget > 0 && s.Best() == nil && slices.ContainsFunc(s.measured, (*Candidate).unknown) {
		s.reason = budgetOver
	}
}

const budgetOver = "the time of the budget is over"

// How the first load of a measurement relates to what is known, and how loads go on from there.
const (
	screenGrowth = 1 + screenResolution
	nearBest     = 0.98 // the first load of a candidate, as a share of the estimated capacity of the best
	findGrowth   = 1.2
	nearGrowth   = 1.1 // of a candidate whose highest throughput is known
)

func (s *Search) choose(p Point, stage Stage) {
	s.step = Step{Point: p, Stage: stage, Limit: s.left(), Growth: screenGrowth}
	s.more = true
	best := s.highest()
	own := s.byKey[key(p)]
	switch {
	case best == 0:
	case own == nil || own.Score() == 0:
		near := nearBest * s.leader().likely() // one load tells most about which of the two is better
		s.step.Start, s.step.Beat = near, near
	case stage == Refine && s.few():
		near := nearBest * s.leader().likely()
		s.step.Start, s.step.Beat, s.step.Once = near, near, true
	case stage == Refine:
		s.step.Start, s.step.Growth = own.likely(), 1+refineResolution
		if best > own.Low {
			s.step.Beat = best
		}
	default:
		s.step.Start, s.step.Growth = own.likely(), findGrowth
		if own.overloaded() {
			s.step.Growth = max(nearGrowth, 1+s.conf.Resolution)
		}
		if f := s.bestFound(); f != nil { // one load decides whether it is worse
			s.step.Beat = s.beat(f)
			s.step.Start = s.step.Beat
		}
	}
}

// beat is the lowest capacity that counts as higher than that of a candidate.
func (s *Search) beat(c *Candidate) float64 { return c.Value * (1 + s.conf.Resolution/2) }

// leader is the candidate with the highest estimate among those that held a load; nil where none did.
func (s *Search) leader() *Candidate { return s.most((*Candidate).likely) }

// few tells whether every contender can be a finalist.
func (s *Search) few() bool { return len(s.contenders()) <= finalists }

// highest is the highest capacity that holds.
func (s *Search) highest() float64 {
	best := 0.0
	for _, c := range s.measured {
		best = max(best, c.held())
	}
	return best
}

// left is the time of the budget that is left; 0 for no limit.
func (s *Search) left() time.Duration {
	if s.conf.Budget == 0 {
		return 0
	}
	return max(s.conf.Budget-s.spent, time.Millisecond)
}

// expect is how long a measurement of a stage takes, by those before.
func (s *Search) expect(stage Stage) time.Duration {
	if t := s.times[stage]; t.count > 0 {
		return t.sum / time.Duration(t.count)
	}
	return s.conf.Expect[stage]
}

// affords tells whether the budget has the time for a measurement of a stage, and then for a whole search of the best.
func (s *Search) affords(stage Stage) bool {
	if s.conf.Budget == 0 {
		return true
	}
	need := s.expect(stage)
	if stage != Find && s.found() == 0 {
		need += s.expect(Find)
	}
	if len(s.measured) == 0 {
		need = s.expect(stage)
	}
	return s.spent+need <= s.conf.Budget
}

func (s *Search) found() int {
	n := 0
	for _, c := range s.measured {
		if c.Value > 0 {
			n++
		}
	}
	return n
}

func (s *Search) bestFound() *Candidate {
	var best *Candidate
	for _, c := range s.measured {
		if c.Value > 0 && (best == nil || c.Value > best.Value) {
			best = c
		}
	}
	return best
}

// nextSample is the next candidate of the sample.
func (s *Search) nextSample() (Point, Stage, bool) {
	for i, p := range s.sample {
		if s.byKey[key(p)] != nil {
			continue
		}
		if i > 3 && s.over(screenShare) {
			break
		}
		return p, Screen, true
	}
	return nil, 0, false
}

// over tells whether the screening has had its share of the budget.
func (s *Search) over(share float64) bool {
	return s.conf.Budget > 0 && float64(s.spent+s.expect(Screen)) > share*float64(s.conf.Budget)
}

// nextClimb is the next unmeasured neighbor of the best candidate, before any was searched in whole.
func (s *Search) nextClimb() (Point, Stage, bool) {
	if s.found() > 0 || s.over(climbShare) {
		return nil, 0, false
	}
	return s.neighbor(Screen)
}

// nextStep is the next unmeasured neighbor of the answer.
func (s *Search) nextStep() (Point, Stage, bool) { return s.neighbor(Refine) }

// neighbor is an unmeasured neighbor of the best candidate: one knob differs by one step or, after these, one knob goes up and
// another one down.
func (s *Search) neighbor(stage Stage) (Point, Stage, bool) {
	best := s.Best()
	if best == nil {
		return nil, 0, false
	}
	n := len(s.conf.Knobs)
	for k := range n {
		for _, d := range [...]int{1, -1} {
			if p := s.moved(best.Point, k, d, k, 0); p != nil {
				return p, stage, true
			}
		}
	}
	for up := range n {
		for down := range n {
			if p := s.moved(best.Point, up, 1, down, -1); up != down && p != nil {
				return p, stage, true
			}
		}
	}
	return nil, 0, false
}

// moved is a point with two knobs changed; nil if it is not in the space, or was measured.
func (s *Search) moved(from Point, k, dk, j, dj int) Point {
	p := slices.Clone(from)
	for _, m := range [...][2]int{{k, dk}, {j, dj}} {
		if p[m[0]] == NotListed {
			return nil
		}
		p[m[0]] += m[1]
		if p[m[0]] < 0 || p[m[0]] >= len(s.conf.Knobs[m[0]].Values) {
			return nil
		}
	}
	if s.byKey[key(p)] != nil {
		return nil
	}
	return p
}

// contenders are the candidates that may be the best, by what is known of them, the best first.
func (s *Search) contenders() []*Candidate {
	best := s.highest()
	least, likely := best, best
	if f := s.bestFound(); f != nil {
		least = max(best, s.beat(f))
	} else if l := s.leader(); l != nil {
		likely = l.likely()
	}
	var out []*Candidate
	for _, c := range s.measured {
		if c.Score() > 0 && (c.High > least && !c.farBelow(likely) || c.held() == best) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *Candidate) int { return cmp.Compare(b.likely(), a.likely()) })
	return out
}

// nextRefine is the next of the better half of the contenders that was only screened. Of few contenders it is the one that may have the
// highest capacity, if that is higher than the estimate of the leader: one load tells which of the two is better, before the
// whole search of either.
func (s *Search) nextRefine() (Point, Stage, bool) {
	if s.found() > 0 {
		return nil, 0, false
	}
	list := s.contenders()
	if len(list) > finalists {
		list = list[:min(refined, (len(list)+1)/2)]
	} else if leader := s.leader(); leader != nil {
		list = slices.DeleteFunc(list, func(c *Candidate) bool { return c == leader || c.top() <= nearBest*leader.likely() })
		slices.SortStableFunc(list, func(a, b *Candidate) int { return cmp.Compare(b.top(), a.top()) })
	}
	for _, c := range list {
		if c.Stage == Screen {
			return c.Point, Refine, true
		}
	}
	return nil, 0, false
}

// nextFind is the next finalist.
func (s *Search) nextFind() (Point, Stage, bool) {
	tried := 0
	for _, c := range s.measured {
		if c.Stage == Find {
			tried++
		}
	}
	if best := s.bestFound(); tried >= finalists && best != nil {
		// A candidate that held a higher load gets a search, too.
		for _, c := range s.contenders() {
			if c.Stage != Find && c.Low > s.beat(best) {
				return c.Point, Find, true
			}
		}
		return nil, 0, false
	}
	p, ok := s.finalist()
	return p, Find, ok
}

// finalist is the best contender that has not had a whole search.
func (s *Search) finalist() (Point, bool) {
	for _, c := range s.contenders() {
		if c.Stage != Find && c.Failed == "" {
			return c.Point, true
		}
	}
	return nil, false
}
