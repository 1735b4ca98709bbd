package find

import (
	"cmp"
	"math"

	"github.com/redline-bench/redline/internal/result"
)

// State is how far the search came.
type State string

// The states.
const (
	Searching   State = "searching"
	Complete    State = "complete"
	Interrupted State = "interrupted"
	OutOfTime   State = "out of time" // the budget was over before the interval was as narrow as the resolution
	Failed      State = "failed"
)

// Outcome is what is known about the capacity of one tier.
type Outcome string

// The outcomes.
const (
	Open        Outcome = "open"         // the search ended before a load held
	Found       Outcome = "found"        // Value holds, and a load above it does not
	AtLeast     Outcome = "at least"     // Value holds; the search ended before a load failed
	NoneHolds   Outcome = "none holds"   // even the lowest load fails
	AllHold     Outcome = "all hold"     // even the highest load holds
	ClientLimit Outcome = "client limit" // the client reached its limit before the server did
)

// Capacity is the answer for one tier.
type Capacity struct {
	Tier    string
	Outcome Outcome
	// Value is a load that held, and is likely to hold; 0 where none did.
	Value float64
	// Held is the probe at Value that tells most; nil where there is none.
	Held *Probe
	// Interval holds the capacity with AnswerLevel. Low is at most the highest load that held, High at least the lowest that failed; it
	// is open where none did.
	Interval result.Interval
	// Confirmed: a confirmation held every objective at Value, and all probes together say so with AnswerLevel.
	Confirmed bool
	// LimitedBy is server or client; empty where neither was the limit.
	LimitedBy string
	// Binding is what decided Failing: an objective, BacklogGrew or WentDown. Where nothing fails it is the objective that is nearest to
	// its limit.
	Binding string
	// Failing is the probe with the lowest load above Value that fails, Client the lowest at which the client was the limit; nil where
	// there is none.
	Failing, Client *Probe
	// Unsure is what a sure answer needs; empty where nothing is missing.
	Unsure string
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
	for i, p := range s.probes {
		a.Probes = append(a.Probes, *p)
		if p.End == Running {
			a.Probes[i].Judgments = s.judgments(p)
		}
	}
	return a
}

func (s *Search) capacity(tier int) Capacity {
	c := Capacity{Tier: s.conf.Tiers[tier].Name, Interval: s.interval(tier)}
	c.Held = s.best(tier)
	if c.Held != nil {
		c.Value = c.Held.Load
		c.Confirmed = c.Held.Purpose == Confirm && s.likelyHolds(c.Value, tier) >= AnswerLevel
		c.Interval.Low = min(c.Interval.Low, c.Value)
		if !c.Interval.Open {
			c.Interval.High = max(c.Interval.High, c.Value)
		}
		c.Unsure = c.Held.Judgments[tier].Needs
	}
	c.Failing, c.Client = s.failing(c.Value, tier), s.lowestFull()
	c.Outcome, c.LimitedBy = s.outcome(&c, tier)
	switch {
	case c.Failing != nil:
		c.Binding = c.Failing.Judgments[tier].Objective
	case c.Held != nil:
		c.Binding = c.Held.Judgments[tier].Objective
	}
	c.Knee = s.knee(tier, c.Binding)
	return c
}

func (s *Search) outcome(c *Capacity, tier int) (o Outcome, limitedBy string) {
	failed := s.failed(tier)
	wall, _ := s.wall()
	switch {
	case wall > 0 && (failed == 0 || wall < failed && wall > c.Value && s.belief(tier).likely(0.5) > wall):
		return ClientLimit, "client"
	case c.Value == 0 && failed > 0 && failed <= s.conf.Lowest:
		return NoneHolds, "server"
	case c.Value == 0:
		return Open, ""
	case c.Value == s.conf.Highest:
		return AllHold, ""
	case failed > 0:
		return Found, "server"
	}
	return AtLeast, ""
}

// best is a probe at the load of the answer: the highest that held where none failed, or else the highest that held and is likely to hold,
// or where none is likely the likeliest. A confirmation tells most about its load, and then the probe that measured for longest.
func (s *Search) best(tier int) *Probe {
	var best *Probe
	most, failed := 0.0, s.failed(tier)
	for _, p := range s.counted() {
		if p.Judgments[tier].Verdict != Holds {
			continue
		}
		belief := answerBelief
		if failed > 0 {
			belief = min(s.likelyHolds(p.Load, tier), answerBelief)
		}
		switch {
		case best == nil || belief > most:
			best, most = p, belief
		case belief == most && cmp.Or(cmpBool(p.Purpose == Confirm, best.Purpose == Confirm), cmp.Compare(p.Load, best.Load), cmp.Compare(p.measured, best.measured)) > 0:
			best = p
		}
	}
	return best
}

// failing is the probe with the lowest load above another that fails; nil where there is none.
func (s *Search) failing(above float64, tier int) *Probe {
	var out *Probe
	for _, p := range s.counted() {
		if p.Judgments[tier].Verdict == Fails && p.Load > above && (out == nil || p.Load < out.Load) {
			out = p
		}
	}
	return out
}

// interval is that of the capacity. No load is stated to hold above all that held, or to fail below all that failed.
func (s *Search) interval(tier int) result.Interval {
	held, failed := s.held(tier), s.failed(tier)
	iv := result.Interval{Level: AnswerLevel, Open: failed == 0}
	low, high := 0.0, 0.0
	if held > 0 || failed > 0 {
		low, high = s.ends(tier)
	}
	iv.Low = min(low, held)
	if !iv.Open {
		iv.High = high
	}
	return iv
}

// knee is the load with the highest ratio of load to the metric of an objective, by probes that are sure; 0 if that is the highest or the lowest
// load of all, because the ratio may be higher beyond it.
func (s *Search) knee(tier int, objective string) float64 {
	knee, most, highest, lowest := 0.0, 0.0, 0.0, math.Inf(1)
	for i := range s.objectives {
		if r := &s.objectives[i]; r.Text != objective || r.Op[0] == '>' {
			continue
		}
		for _, p := range s.counted() {
			reading, ok := p.reading(i)
			if !ok || p.cut() || !p.Judgments[tier].Decided || reading.Value <= 0 {
				continue
			}
			highest, lowest = max(highest, p.Load), min(lowest, p.Load)
			if power := p.Load / reading.Value; power > most {
				knee, most = p.Load, power
			}
		}
	}
	if knee == highest || knee == lowest {
		return 0
	}
	return knee
}

func cmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
