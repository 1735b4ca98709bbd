package find

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// lookGrowth is the ratio of the measured times at two looks at the intervals.
	lookGrowth = 2
	// steadyTicks is for how many observations in a row the backlog of an overload grows.
	steadyTicks = 4
	// settleTicks is how many observations come in the time of one tick while a probe settles: a load that is far too high
	// is cut before its backlog takes all connections.
	settleTicks = 4
	// leastBacklog is a backlog that is never too high by itself.
	leastBacklog = 500
	// overloadDeviations is the growth of an overload's backlog, in square roots of the number of requests. The backlog
	// of a server that keeps up grows by about one or two.
	overloadDeviations = 5
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

	began    time.Duration // time of the search
	measured time.Duration
}

// backlog is the number of requests that were due and had not ended at one observation.
type backlog struct{ due, waiting float64 }

// start begins a probe.
func (s *Search) start(load float64, purpose Purpose, tier int) {
	s.probes = append(s.probes, &Probe{Load: load, Purpose: purpose, Tier: tier, began: s.spent})
	s.backlog, s.unmeasured = s.backlog[:0], 0
	limit := s.conf.Settle + s.conf.MaxTime
	if purpose == Confirm {
		limit = s.conf.Settle + s.conf.Confirm
	}
	s.step = Step{Do: Run, Probe: len(s.probes) - 1, Purpose: purpose, Load: load, Limit: limit}
	s.schedule(0)
}

// schedule sets the times of the next observation and of the next look at the intervals.
func (s *Search) schedule(elapsed time.Duration) {
	look := s.conf.MinTime
	for s.conf.Settle+look <= elapsed {
		look = time.Duration(float64(look) * lookGrowth)
	}
	s.step.Look = min(s.conf.Settle+look, s.step.Limit)
	if elapsed < s.conf.Settle {
		s.step.At = min(elapsed+s.conf.Tick/settleTicks, s.conf.Settle)
	} else {
		s.step.At = min(elapsed+s.conf.Tick, s.step.Look)
	}
}

// Observe takes in what the caller saw during the current step, and returns the next one.
func (s *Search) Observe(o Observation) Step {
	before := s.step
	s.observe(o)
	if before.Do != Finish && (s.step.Do != before.Do || s.step.Probe != before.Probe) {
		s.spent += o.Elapsed
	}
	return s.step
}

func (s *Search) observe(o Observation) {
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
}

func (s *Search) observeRun(o Observation) {
	p := s.probes[len(s.probes)-1]
	p.Last = o
	p.measured = max(0, o.Elapsed-s.conf.Settle)
	s.backlog = s.withBacklog(o)
	if o.Elapsed <= s.conf.Settle {
		s.unmeasured = o.Requests
	}
	switch {
	case o.ClientLimit != "":
		s.end(ClientFull)
	case o.Down != "":
		s.end(ServerDown)
	case s.overloaded(s.backlog), s.tooManyWait(o):
		s.end(Overload)
	case o.Elapsed >= s.step.Look && s.decided(p):
		s.end(Decided)
	case o.Elapsed >= s.step.Limit && s.tooFewEnded(p):
		s.step.At = o.Elapsed + s.conf.Tick
		s.step.Limit, s.step.Look = s.step.At, s.step.At
	case o.Elapsed >= s.step.Limit:
		s.end(TimeOver)
	default:
		s.schedule(o.Elapsed)
	}
}

// tooFewEnded tells whether a probe goes on after its time, because it has measured too few requests.
func (s *Search) tooFewEnded(p *Probe) bool {
	ended := p.Last.Requests - s.unmeasured
	if p.Purpose == Confirm && ended < s.conf.ConfirmRequests {
		return true
	}
	return ended == 0 && p.Last.Failures == 0 && p.measured < s.conf.MaxTime+emptyTime
}

// decided tells whether the probe alone decides for the tier that asked. A confirmation uses its whole time to hold.
func (s *Search) decided(p *Probe) bool {
	j := s.judge([]*Probe{p}, p.Tier)
	return j.Decided && (j.Verdict == Fails || p.Purpose != Confirm)
}

// withBacklog is the backlog of the running probe with that of one more observation. The time in which the probe settles is
// left out.
func (s *Search) withBacklog(o Observation) []backlog {
	if o.Elapsed <= s.conf.Settle {
		return s.backlog
	}
	return append(s.backlog, backlog{due: float64(o.Requests + o.Failures + o.Backlog), waiting: float64(o.Backlog)})
}

// Overloaded tells whether an observation would end the running probe as an overload. The caller then adds readings and
// looks at its own limits, so that an overload of the client is not taken for one of the server.
func (s *Search) Overloaded(o Observation) bool {
	return s.step.Do == Run && (s.overloaded(s.withBacklog(o)) || s.tooManyWait(o))
}

// tooManyWait tells whether so many requests of an open loop wait that no latency objective can hold: by Little's law the
// mean latency is the backlog divided by the rate.
func (s *Search) tooManyWait(o Observation) bool {
	if s.conf.Whole || s.patience == 0 {
		return false
	}
	return float64(o.Backlog) > max(leastBacklog, 2*s.step.Load*s.patience.Seconds())
}

// latencyLimit is the longest latency that an objective of any tier allows for a whole request; 0 where a tier has none.
func (s *Search) latencyLimit() time.Duration {
	var longest time.Duration
	for i := range s.conf.Tiers {
		limit := s.conf.Tiers[i].LatencyLimit(wholeLatency)
		if limit == 0 {
			return 0
		}
		longest = max(longest, limit)
	}
	return longest
}

// wholeLatency tells whether a metric is a latency of whole requests: one that at least half of them exceed when their mean
// does by far.
func wholeLatency(name string) bool {
	if head, tail, ok := strings.Cut(name, "."); ok && (head == "latency" || head == "due" || head == "request_latency") {
		name = tail
	}
	if name == "avg" {
		return true
	}
	p, err := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
	return err == nil && strings.HasPrefix(name, "p") && p >= 50
}

// overloaded tells whether the backlog has grown in each of the last ticks, and in all by more than chance explains.
func (s *Search) overloaded(list []backlog) bool {
	last := len(list) - 1
	if last < steadyTicks {
		return false
	}
	for i := last - steadyTicks; i < last; i++ {
		if list[i+1].waiting <= list[i].waiting {
			return false
		}
	}
	first, now := list[0], list[last]
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

// steady tells whether the probe ended with figures of a server that kept up.
func (p *Probe) steady() bool { return p.End == Decided || p.End == TimeOver }

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
	if end == Overload || s.mayBeDown() {
		s.step = Step{Do: Drain, Probe: s.step.Probe, At: s.conf.Tick, Limit: s.conf.MaxTime}
		return
	}
	s.advance()
}

// mayBeDown tells whether the last probe lost more requests than any load may, or all of them at its end. Only the check tells
// then whether the load was too high or the server is gone.
func (s *Search) mayBeDown() bool {
	p := s.probes[len(s.probes)-1]
	return p.End == ServerDown || s.tooManyFail(p.Last.Failures, p.Last.Requests+p.Last.Failures)
}

// startCheck begins the check that the server has recovered: at half of a load that holds, or where none is known at the
// load that comes next. Where the search is over, no check is needed after an overload.
func (s *Search) startCheck() {
	next, ok := s.next()
	if !ok && !s.mayBeDown() {
		s.advance()
		return
	}
	load := s.conf.Lowest
	if ok {
		load = next.load
	}
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
	case o.Elapsed >= s.step.Limit && o.Requests == 0 && o.Elapsed < s.step.Limit+emptyTime:
		s.step.At = o.Elapsed + s.conf.Tick
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
	case s.conf.Budget > 0 && s.spent+s.conf.Settle+s.conf.MinTime > s.conf.Budget:
		s.finish(OutOfTime, fmt.Sprintf("the time for the search, %v, is over", s.conf.Budget))
	case len(s.probes) >= mostProbes*len(s.tiers):
		s.finish(Undecided, fmt.Sprintf("%d probes contradict each other: what they measure changes too much for an answer", len(s.probes)))
	default:
		s.start(next.load, next.purpose, next.tier)
	}
}
