package find

import (
	"iter"
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/result"
)

// State is how far the search came.
type State string

// The states.
const (
	Searching   State = "searching"
	Complete    State = "complete"
	Interrupted State = "interrupted"
	OutOfTime   State = "out of time"
	Undecided   State = "undecided" // the probes contradict each other
	Failed      State = "failed"
)

// Outcome is what is known about the capacity of one tier.
type Outcome string

// The outcomes.
const (
	Open        Outcome = "open"         // the search has not ended; only the bracket is known
	Found       Outcome = "found"        // Value holds, and a load just above it does not
	NoneHolds   Outcome = "none holds"   // even the lowest load fails
	AllHold     Outcome = "all hold"     // even the highest load holds
	ClientLimit Outcome = "client limit" // the client reached its limit before the server did
)

// Capacity is the answer for one tier.
type Capacity struct {
	Tier    string
	Outcome Outcome
	// Value is the highest load that holds. It is 0 unless the outcome is Found or AllHold.
	Value float64
	// Interval holds the capacity: Low is the highest load that is decided to hold (0 where none is), High the lowest that
	// is decided to fail. It is open where no load is.
	Interval result.Interval
	// Confirmed: the confirmation at Value held every objective, and together with the probes around Value it kept them from their
	// limits by confirmDeviations.
	Confirmed bool
	// LimitedBy is server or client; empty where neither was the limit.
	LimitedBy string
	// Binding is the objective that fails first above the answer; empty where it is not known.
	Binding string
	// Knee is the probed load with the highest ratio of load to the binding objective's metric (Kleinrock's power): below
	// it latency hardly grows with the load, above it grows faster than the load. It is 0 where it is not known.
	Knee float64
}

// Answer is all that the search knows. It may be asked for at any time.
type Answer struct {
	State  State
	Reason string // why the search was interrupted or failed
	// Capacities has one entry for each tier.
	Capacities []Capacity
	Probes     []Probe
}

// Answer is what the search knows so far.
func (s *Search) Answer() Answer {
	a := Answer{State: s.state, Reason: s.reason}
	for t := range s.tiers {
		a.Capacities = append(a.Capacities, s.capacity(t))
	}
	for _, p := range s.probes {
		now := *p
		if p.End == Running {
			now.Judgments = s.judgments(p)
		}
		a.Probes = append(a.Probes, now)
	}
	return a
}

func (s *Search) capacity(tier int) Capacity {
	levels := s.levels(tier)
	low, high := edges(levels)
	c := Capacity{Tier: s.conf.Tiers[tier].Name, Outcome: Open, Binding: binding(low, high)}
	c.Knee = s.knee(c.Binding)
	if _, _, more := s.nextOf(tier); !more {
		switch {
		case high != nil && high.Verdict == AtClient:
			c.Outcome, c.LimitedBy = ClientLimit, "client"
		case low == nil:
			c.Outcome, c.LimitedBy = NoneHolds, "server"
		default:
			c.Outcome, c.LimitedBy = Found, "server"
			c.Value, c.Confirmed, _ = s.candidate(levels, tier)
			if high == nil && c.Value == low.load {
				c.Outcome, c.LimitedBy = AllHold, ""
			}
		}
	}
	c.Interval = interval(levels, c)
	return c
}

// interval goes from the highest load that surely holds to the lowest that surely fails.
func interval(levels []level, c Capacity) result.Interval {
	at := slices.IndexFunc(levels, func(l level) bool { return l.Verdict != Holds })
	if at < 0 {
		at = len(levels)
	}
	low, _ := surely(Holds, slices.Backward(levels[:at]))
	if c.Confirmed || c.Value > 0 && low > c.Value {
		low = c.Value
	}
	high, ok := surely(Fails, slices.All(levels[at:]))
	return result.Interval{Low: low, High: high, Level: Level, Open: !ok}
}

// surely walks away from the bracket to the first load whose verdict is sure. The evidence of the loads on the way counts:
// if the farthest were judged wrongly, the nearer ones would be, too.
func surely(verdict Verdict, levels iter.Seq2[int, level]) (load float64, ok bool) {
	var margins, count float64
	sign := 1.0 // of a margin that speaks for the verdict
	if verdict == Fails {
		sign = -1
	}
	for _, l := range levels {
		if l.Verdict != verdict {
			continue
		}
		if l.interval {
			margins += sign * l.margin
			count++
		}
		if l.Decided || count > 0 && margins >= decideDeviations*math.Sqrt(count) {
			return l.load, true
		}
	}
	return 0, false
}

// binding is the objective that fails at the upper end of the bracket, or is nearest to failing at the lower end.
func binding(low, high *level) string {
	switch {
	case high != nil && high.Verdict == Fails:
		return high.Objective
	case low != nil:
		return low.Objective
	}
	return ""
}

// knee is the load with the highest ratio of load to the metric of an objective; 0 if that is the highest load of all, because
// the ratio may grow above it.
func (s *Search) knee(objective string) float64 {
	knee, most, highest := 0.0, 0.0, 0.0
	for i := range s.objectives {
		if r := &s.objectives[i]; r.Text != objective || r.Op[0] == '>' {
			continue
		}
		for _, p := range s.probes {
			highest = max(highest, p.Load)
			reading, ok := p.reading(i)
			if !ok || p.End == Overload || reading.Value <= 0 {
				continue
			}
			if power := p.Load / reading.Value; power > most {
				knee, most = p.Load, power
			}
		}
	}
	if knee == highest {
		return 0
	}
	return knee
}
