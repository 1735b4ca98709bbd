package find

import (
	"fmt"
	"time"
)

const (
	// lookGrowth is the ratio of the measured times at two looks at the intervals.
	lookGrowth = 2
	// settleTicks is how many observations come in the time of one tick while a probe settles: a load that is far too high
	// is cut before its backlog takes all connections.
	settleTicks = 4
	// steadyBacklogs is how many times as many requests as wait must have ended before a load is sure to hold.
	steadyBacklogs = 2
	// emptyTime is how much longer than MaxTime a probe goes on in which no request has ended, and a check in which none has
	// succeeded. Without one, nothing is known of the objectives: the client may have stood still.
	emptyTime = 10 * time.Second
)

// Purpose is why a load is probed.
type Purpose string

// The purposes.
const (
	Bracket Purpose = "bracket"
	Bisect  Purpose = "bisect"
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
	Rejected   End = "rejected"
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
	response time.Duration // by Little's law: the mean backlog divided by the rate at which requests ended
}

// start begins a probe that measures for at most some time.
func (s *Search) start(r request) {
	s.probes = append(s.probes, &Probe{Load: r.load, Purpose: r.purpose, Tier: r.tier})
	s.backlog, s.settled, s.waiting, s.looks = s.backlog[:0], Observation{}, 0, 0
	limit := r.settle + r.time
	s.step = Step{Do: Run, Probe: len(s.probes) - 1, Purpose: r.purpose, Load: r.load, Settle: r.settle, Limit: limit, Drain: s.drainTime(limit)}
	s.schedule(0)
}

// schedule sets the times of the next observation and of the next look at the intervals.
func (s *Search) schedule(elapsed time.Duration) {
	settle, look := s.step.Settle, s.conf.MinTime
	if s.step.Purpose != Bracket {
		look = max(look, (s.step.Limit-settle)/lookGrowth)
	}
	for settle+look <= elapsed {
		look = time.Duration(float64(look) * lookGrowth)
	}
	s.step.Look = min(settle+look, s.step.Limit)
	if elapsed < settle {
		s.step.At = min(elapsed+s.conf.Tick/settleTicks, settle)
	} else {
		s.step.At = min(elapsed+s.conf.Tick, s.step.Look)
	}
}

// Observe takes in what the caller saw during the current step, and returns the next one.
func (s *Search) Observe(o Observation) Step {
	s.now = o.Now
	switch s.step.Do {
	case Run:
		s.observeRun(o)
	case Drain:
		s.drained.time += o.Elapsed
		s.drained.count++
		if s.mayBeDown() || o.Elapsed >= s.step.Limit && s.probes[s.step.Probe].cut() {
			s.startCheck()
		} else {
			s.advance()
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
	s.track(p, o)
	s.backlog = s.withBacklog(o)
	switch {
	case o.ClientLimit != "":
		s.end(ClientFull)
	case o.Down != "":
		s.end(ServerDown)
	case o.Rejects != "":
		s.end(Rejected)
	case s.overloaded(s.backlog), s.tooManyWait(o):
		s.end(Overload)
	case o.Elapsed >= s.step.Look && s.decided(p):
		s.end(Decided)
	case o.Elapsed >= s.step.Look && p.Purpose == Bracket && o.steady() && s.judge(p, p.Tier).headroom >= farHeadroom:
		s.end(TimeOver) // the next load tells more
	case o.Elapsed >= s.step.Limit && s.tooFewEnded(p):
		s.step.At = o.Elapsed + min(s.conf.Tick, s.left())
		s.step.Limit, s.step.Look = s.step.At, s.step.At
	case o.Elapsed >= s.step.Limit:
		s.end(TimeOver)
	default:
		s.schedule(o.Elapsed)
	}
}

// track follows how the backlog of a probe grows.
func (s *Search) track(p *Probe, o Observation) {
	p.measured = max(0, o.Elapsed-s.step.Settle)
	if p.measured == 0 {
		s.settled = o
		return
	}
	ended := o.Requests + o.Failures - s.settled.Requests - s.settled.Failures
	s.waiting += float64(o.Backlog)
	s.looks++
	p.response = time.Duration(s.waiting / float64(s.looks) * float64(p.measured) / float64(max(1, ended)))
}

// steady tells whether the load ran for long enough that its backlog has reached its level, if the server keeps up: for about three responses.
func (o *Observation) steady() bool { return o.Requests+o.Failures >= steadyBacklogs*o.Backlog }

func (o *Observation) due() int { return o.Requests + o.Failures + o.Backlog }

// tooFewEnded tells whether a probe goes on after its time, because it has measured too few requests.
func (s *Search) tooFewEnded(p *Probe) bool {
	if s.conf.Budget > 0 && s.left() <= 0 {
		return false
	}
	ended := p.Last.Requests - s.settled.Requests
	if p.Purpose == Confirm && ended < s.conf.ConfirmRequests {
		return true
	}
	return ended == 0 && p.Last.Failures == 0 && p.measured < s.conf.MaxTime+emptyTime
}

// decided tells whether the probe alone decides for the tier that asked. A confirmation uses its whole time to hold.
func (s *Search) decided(p *Probe) bool {
	j := s.judge(p, p.Tier)
	return j.Decided && (j.Verdict == Fails || p.Purpose != Confirm)
}

// close ends the running probe.
func (s *Search) close(end End) {
	p := s.probes[len(s.probes)-1]
	p.End = end
	p.Judgments = s.judgments(p)
	clear(s.beliefs)
}

// judgments are what a probe alone shows, for each tier.
func (s *Search) judgments(p *Probe) []Judgment {
	out := make([]Judgment, len(s.tiers))
	for t := range s.tiers {
		out[t] = s.judge(p, t)
	}
	return out
}

// cut tells whether the load was too high for the server to answer.
func (p *Probe) cut() bool { return p.End == Overload || p.End == Rejected || p.End == ServerDown }

// reading is the last value of an objective; ok is false where there is none.
func (p *Probe) reading(objective int) (r *Reading, ok bool) {
	if objective >= len(p.Last.Readings) || p.Last.Readings[objective].Missing {
		return nil, false
	}
	return &p.Last.Readings[objective], true
}

// end ends the running probe. The requests in flight end before the next one begins; nothing waits for them at the end of the search.
func (s *Search) end(end End) {
	limit := s.step.Drain
	s.close(end)
	if _, more := s.next(); more || s.mayBeDown() {
		s.step = Step{Do: Drain, Probe: s.step.Probe, At: limit, Limit: limit}
		return
	}
	s.advance()
}

// mayBeDown tells whether the last probe lost more requests than any load may, or all of them at its end. Only the check tells
// then whether the load was too high or the server is gone.
func (s *Search) mayBeDown() bool {
	p := s.probes[len(s.probes)-1]
	return p.End == ServerDown || p.End == Rejected || s.tooManyFail(p.Last.Failures, p.Last.Requests+p.Last.Failures)
}

// startCheck begins the check that the server has recovered: at half of a load that holds, or where none is known at the
// load that comes next.
func (s *Search) startCheck() {
	load := s.conf.Lowest
	if next, ok := s.next(); ok {
		load = next.load
	}
	for t := range s.tiers {
		if held := s.held(t); held > 0 {
			load = min(load, max(s.round(held/2), s.conf.Lowest))
		}
	}
	limit := s.conf.Settle + s.conf.MaxTime
	if s.conf.Budget > 0 {
		limit = min(limit, max(s.left(), s.conf.Settle))
	}
	s.step = Step{Do: Check, Probe: s.step.Probe, Load: load, At: s.conf.Settle, Limit: limit, Drain: s.drainTime(limit)}
}

func (s *Search) observeCheck(o Observation) {
	switch {
	case o.Down != "":
		s.finish(Failed, "the server does not answer: "+o.Down)
	case o.Rejects != "":
		s.finish(Failed, "the server answers no request, even at a light load: "+o.Rejects)
	case s.recovered(o):
		s.advance()
	case o.Elapsed >= s.step.Limit && o.Requests == 0 && o.Elapsed < s.step.Limit+emptyTime && s.left() > 0:
		s.step.At = o.Elapsed + min(s.conf.Tick, s.left())
	case o.Elapsed >= s.step.Limit && o.Requests == 0:
		s.finish(Failed, fmt.Sprintf("the server does not answer: no request succeeded within %v", o.Elapsed.Round(time.Second)))
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
		if s.judgeObjectives(&Probe{Last: o}, t).Verdict == Holds {
			return true
		}
	}
	return false
}

// advance starts the next probe, or finishes.
func (s *Search) advance() {
	r, more := s.next()
	switch {
	case more:
		s.start(r)
	case s.conf.Budget > 0 && s.outOfTime() && s.unfinished():
		s.finish(OutOfTime, "the time of --budget is over")
	default:
		s.finish(Complete, "")
	}
}

// unfinished tells whether a tier needs more probes, whatever the time.
func (s *Search) unfinished() bool {
	for t := range s.tiers {
		if _, _, more := s.nextOf(t); more {
			return true
		}
	}
	return false
}
