package gate

import (
	"fmt"
	"strconv"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
)

// Gate is the outcome of all rules for a result.
type Gate struct {
	Findings []result.Check
	// Invalid says why the result cannot be judged at all: the client was the limit, or the run failed.
	Invalid string
}

// Outcome is the overall outcome of a gate.
type Outcome int

// The outcomes, worst last.
const (
	Passed Outcome = iota
	Missed         // a rule does not hold
	Void           // the result cannot be judged
)

// Outcome is the worst of the findings. In an invalid run a missed rule may be the client's fault, so Void takes precedence
// over Missed. A missed rule takes precedence over an unknown one.
func (g *Gate) Outcome() Outcome {
	if g.Invalid != "" {
		return Void
	}
	out := Passed
	for _, f := range g.Findings {
		switch {
		case f.Unknown:
			out = Void
		case !f.OK:
			return Missed
		}
	}
	return out
}

// Apply checks a result against the rules; the objectives of a search are rules too. A rule without a matching level is missed: a gate that checks nothing must not
// pass.
func Apply(res *result.Result, rules []Rule) *Gate {
	g := &Gate{Invalid: invalid(res), Findings: objectives(res)}
	for i := range rules {
		r := &rules[i]
		if tier, ok := r.aboutCapacity(); ok {
			g.Findings = append(g.Findings, r.checkCapacity(res.Find, tier))
			continue
		}
		seen := false
		levels := res.Levels
		if w := res.Whole; w != nil && r.Class == w.Class {
			levels = []result.Level{*w}
		}
		for j := range levels {
			lv := &levels[j]
			if !r.applies(lv) {
				continue
			}
			seen = true
			g.Findings = append(g.Findings, r.find(lv))
		}
		if !seen {
			g.Findings = append(g.Findings, result.Check{Rule: r.Text, Objective: r.Objective, Text: "no measured level matches the rule"})
		}
	}
	return g
}

func (r *Rule) find(lv *result.Level) result.Check {
	f := result.Check{Rule: r.Text, Objective: r.Objective, Level: measure.LevelName(lv)}
	if lv.Idle {
		f.OK, f.Text = true, "not judged here: other parts of the load send all requests of the level"
		return f
	}
	got, ok, err := r.Check(lv)
	if err != nil {
		f.Text, f.Unknown = err.Error(), TooFew(err)
		return f
	}
	f.OK, f.Text = ok, r.Name+" is "+Figure(got)
	return f
}

// invalid says why the whole result is void.
func invalid(res *result.Result) string {
	if res.Verdict.State.Judged() {
		return ""
	}
	if res.Verdict.State == result.Interrupted {
		return "the run was interrupted"
	}
	text := string(res.Verdict.State)
	if len(res.Verdict.Reasons) > 0 {
		text += ": " + res.Verdict.Reasons[0].What
	}
	return text
}

// Figure formats a reading with its unit.
func Figure(r result.Reading) string {
	digits := strconv.FormatFloat(r.Value, 'f', decimals(r.Value), 64)
	switch r.Unit {
	case "%", "/s":
		return digits + r.Unit
	case "":
		return digits
	}
	return fmt.Sprintf("%s %s", digits, r.Unit)
}

// decimals returns the number of decimals for about four digits.
func decimals(v float64) int {
	switch {
	case v < 0:
		return decimals(-v)
	case v >= 1000:
		return 0
	case v >= 100:
		return 1
	case v >= 10:
		return 2
	}
	return 3
}
