package find

import (
	"math"
	"time"
)

const (
	// lookGrowth is the ratio of the measured times at two looks at the intervals.
	lookGrowth = 2
	// steadyTicks is for how many observations in a row the backlog of an overload grows.
	steadyTicks = 4
	// overloadDeviations is the growth of an overload's backlog, in square roots of the number of requests. The backlog
	// of a server that keeps up grows by about one or two.
	overloadDeviations = 5
)

// Purpose is why a load is probed.
type Purpose string

// The purposes.
const (
	Bracket Purpose = "bracket"
	Bisect  Purpose = "bisect"
	Recheck Purpose = "recheck"
	Confirm Purpose = "confirm"
)

// End is why a probe ended.
type End string

// The ends of a probe.
const (
	Running    End = ""
	Decided    End = "decided"
	TimeOver   End = "time over"
	Overload   End = "overload"
	ClientFull End = "client limit"
	ServerDown End = "server down"
	Stopped    End = "stopped"
)

// Probe is one load that was run.
type Probe struct {
	Load    float64
	Purpose Purpose
	Tier    int // the tier that asked for it
	End     End
	// Last has the figures at the end of the probe.
	Last Observation
	// Judgments are what this probe alone shows, a judgment for each tier.
	Judgments []Judgment
	// Unrecovered: the objectives did not hold at a light load in the time after this overload.
	Unrecovered bool

	measured time.Duration
}

// backlog is the number of requests that were due and had not ended at one observation.
type backlog struct{ due, waiting float64 }

// start begins a probe.
func (s *Search) start(load float64, purpose Purpose, tier int) {
	s.probes = append(s.probes, &Probe{Load: load, Purpose: purpose, Tier: tier})
	s.backlog = s.backlog[:0]
	limit := s.conf.Settle + s.conf.MaxTime
	if purpose == Confirm {
		limit = s.conf.Settle + s.conf.Confirm
	}
	s.step = Step{Do: Run, Probe: len(s.probes) - 1, Purpose: purpose, Load: load, Limit: limit}
	s.schedule(0)
}

// schedule sets the time of the next observation, and whether it is a look at the intervals.
func (s *Search) schedule(elapsed time.Duration) {
	look := s.conf.MinTime
	for s.conf.Settle+look <= elapsed {
		look = time.Duration(float64(look) * lookGrowth)
	}
	look = min(s.conf.Settle+look, s.step.Limit)
	s.step.At = min(max(elapsed+s.conf.Tick, s.conf.Settle), look)
	s.step.Intervals = s.step.At == look
}

// Observe takes in what the caller saw during the current step, and returns the next one.
func (s *Search) Observe(o Observation) Step {
	switch s.step.Do {
	case Run:
		s.observeRun(o)
	case Drain:
		if o.Backlog == 0 || o.Elapsed >= s.step.Limit {
			s.startCheck()
		} else {
			s.step.At = min(o.Elapsed+s.conf.Tick, s.step.Limit)
		}
	case Check:
		s.observeCheck(o)
	case Finish:
	}
	return s.step
}

func (s *Search) observeRun(o Observation) {
	p := s.probes[len(s.probes)-1]
	p.Last = o
	p.measured = max(0, o.Elapsed-s.conf.Settle)
	if p.measured > 0 {
		s.backlog = append(s.backlog, backlog{due: float64(o.Requests + o.Failures + o.Backlog), waiting: float64(o.Backlog)})
	}
	switch {
	case o.ClientLimit != "":
		s.end(ClientFull)
	case o.Down != "":
		s.end(ServerDown)
	case s.overloaded():
		s.end(Overload)
	case s.step.Intervals && o.Elapsed >= s.step.At && s.decided(p):
		s.end(Decided)
	case o.Elapsed >= s.step.Limit:
		s.end(TimeOver)
	default:
		s.schedule(o.Elapsed)
	}
}

// decided tells whether the probe alone decides for the tier that asked. A confirmation uses its whole time to hold.
func (s *Search) decided(p *Probe) bool {
	j := s.judge([]*Probe{p}, p.Tier)
	return j.Decided && (j.Verdict == Fails || p.Purpose != Confirm)
}

// overloaded tells whether the backlog has grown in each of the last ticks, and in all by more than chance explains.
func (s *Search) overloaded() bool {
	last := len(s.backlog) - 1
	if last < steadyTicks {
		return false
	}
	for i := last - steadyTicks; i < last; i++ {
		if s.backlog[i+1].waiting <= s.backlog[i].waiting {
			return false
		}
	}
	first, now := s.backlog[0], s.backlog[last]
	return now.waiting-first.waiting > overloadDeviations*math.Sqrt(now.due-first.due)
}

// close ends the running probe.
func (s *Search) close(end End) {
	p := s.probes[len(s.probes)-1]
	p.End = end
	p.Judgments = s.judgments(p)
}

// judgments are what a probe alone shows, for each tier.
func (s *Search) judgments(p *Probe) []Judgment {
	out := make([]Judgment, len(s.tiers))
	for t := range s.tiers {
		out[t] = s.judge([]*Probe{p}, t)
	}
	return out
}

// reading is the last value of an objective; ok is false where there is none.
func (p *Probe) reading(objective int) (r *Reading, ok bool) {
	if objective >= len(p.Last.Readings) || p.Last.Readings[objective].Missing {
		return nil, false
	}
	return &p.Last.Readings[objective], true
}

// end ends the running probe and chooses the next step.
func (s *Search) end(end End) {
	s.close(end)
	if end == Overload || end == ServerDown {
		s.step = Step{Do: Drain, Probe: s.step.Probe, At: s.conf.Tick, Limit: s.conf.MaxTime}
		return
	}
	s.advance()
}

// startCheck begins the check that the server has recovered: at half of a load that holds, or where none is known at the
// load that comes next. No check is needed where the search is over.
func (s *Search) startCheck() {
	next, ok := s.next()
	if !ok {
		s.advance()
		return
	}
	load := next.load
	for t := range s.tiers {
		if low, _ := edges(s.levels(t)); low != nil {
			load = min(load, max(s.round(low.load/2), s.conf.Lowest))
		}
	}
	s.step = Step{Do: Check, Probe: s.step.Probe, Load: load, At: s.conf.Settle, Limit: s.conf.Settle + s.conf.MaxTime}
}

func (s *Search) observeCheck(o Observation) {
	switch {
	case o.Down != "":
		s.finish(Failed, "the server does not answer: "+o.Down)
	case s.recovered(o):
		s.advance()
	case o.Elapsed >= s.step.Limit:
		s.probes[s.step.Probe].Unrecovered = true
		s.advance()
	default:
		s.step.At = min(o.Elapsed+max(s.conf.Tick, s.conf.Settle), s.step.Limit)
	}
}

// recovered tells whether all objectives of a tier hold by their values.
func (s *Search) recovered(o Observation) bool {
	for t := range s.tiers {
		if s.judgeObjectives([]*Probe{{Last: o}}, t).margin >= 0 {
			return true
		}
	}
	return false
}

// advance starts the next probe, or finishes.
func (s *Search) advance() {
	next, ok := s.next()
	switch {
	case !ok:
		s.finish(Complete, "")
	case len(s.probes) >= mostProbes*len(s.tiers):
		s.finish(Failed, "the probes contradict each other: the server's performance changes too much for an answer")
	default:
		s.start(next.load, next.purpose, next.tier)
	}
}
