package find

import (
	"math"

	"github.com/redline-bench/redline/internal/result"
)

// Result is the answer in the form of a result. by names what the load is.
func (s *Search) Result(by string) *result.Find {
	a := s.Answer()
	f := &result.Find{By: by, State: string(a.State), Reason: a.Reason, Probes: []result.FindProbe{}}
	for t := range a.Capacities {
		f.Tiers = append(f.Tiers, s.tierResult(t, &a.Capacities[t]))
	}
	f.FindAnswer = f.Tiers[0]
	if len(f.Tiers) == 1 {
		f.Tiers = nil
	}
	for i := range a.Probes {
		f.Probes = append(f.Probes, s.probeResult(&a.Probes[i]))
	}
	return f
}

func (s *Search) tierResult(tier int, c *Capacity) result.FindAnswer {
	out := result.FindAnswer{
		Tier: c.Tier, Outcome: string(c.Outcome), Bracket: c.Interval, Confirmed: c.Confirmed, LimitedBy: c.LimitedBy,
		Binding: c.Binding, Unsure: c.Unsure, Knee: c.Knee, Objectives: []string{},
	}
	for _, i := range s.tiers[tier] {
		out.Objectives = append(out.Objectives, s.objectives[i].Text)
	}
	if c.Held != nil {
		out.Capacity = &result.Capacity{Value: c.Value, Interval: c.Interval}
		out.Held = &result.FindHeld{Seconds: seconds(c.Held), Requests: c.Held.Last.Requests}
	}
	if c.Failing != nil {
		out.FailsAt = c.Failing.Load
	}
	if c.Outcome == ClientLimit {
		out.ClientAt = c.Client.Load
	}
	return out
}

func (s *Search) probeResult(p *Probe) result.FindProbe {
	asked := p.Judgments[p.Tier]
	out := result.FindProbe{
		Load: p.Load, Purpose: string(p.Purpose), Seconds: seconds(p),
		Requests: p.Last.Requests, Failures: p.Last.Failures, Backlog: p.Last.Backlog,
		Decision: string(asked.Verdict), Sure: asked.Decided, Why: asked.Why, End: string(p.End), Unrecovered: p.Unrecovered,
		Figures: []result.FindFigure{},
	}
	for i := range s.objectives {
		f := result.FindFigure{Objective: s.objectives[i].Text}
		if r, ok := p.reading(i); ok {
			f.Value, f.Unit, f.Interval = &r.Value, r.Unit, r.Interval
		}
		out.Figures = append(out.Figures, f)
	}
	if len(s.tiers) > 1 {
		for t, j := range p.Judgments {
			out.Tiers = append(out.Tiers, result.FindDecision{Tier: s.conf.Tiers[t].Name, Decision: string(j.Verdict), Sure: j.Decided, Why: j.Why})
		}
	}
	return out
}

// seconds is how long a probe ran, in milliseconds' precision.
func seconds(p *Probe) float64 { return math.Round(p.Last.Elapsed.Seconds()*1000) / 1000 }

// Levels are the measurements at the capacities, one for each tier that has one.
func (a *Answer) Levels() []result.Level {
	var out []result.Level
	done := map[float64]bool{}
	for _, c := range a.Capacities {
		if c.Held == nil || c.Held.Last.Level == nil || done[c.Value] {
			continue
		}
		done[c.Value] = true
		out = append(out, *c.Held.Last.Level)
	}
	return out
}
