package gate

import (
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/unit"
)

// capacityName is the number of a whole search, not of a level. A tier has its own: capacity.fast.
const capacityName = "capacity"

// aboutCapacity reports whether the rule is about the capacity that a search found, and for which tier.
func (r *Rule) aboutCapacity() (tier string, ok bool) {
	head, tier, _ := strings.Cut(r.Name, ".")
	return tier, head == capacityName
}

// checkCapacity holds a rule to the answer of a search: to the end of its interval that is worse for the rule, so that only a capacity
// that surely keeps the rule passes. Where no load holds, any capacity is below the lowest load.
func (r *Rule) checkCapacity(f *result.Find, tier string) result.Check {
	c := result.Check{Rule: r.Text}
	if f == nil {
		c.Text = "only 'redline find' and 'redline tune' measure a capacity"
		return c
	}
	if err := r.fitsSearch(f, tier); err != nil {
		c.Text = err.Error()
		return c
	}
	a := f.Answer(tier)
	upward := r.Op[0] == '>'
	switch {
	case a.Capacity == nil && a.LimitedBy == "server":
		c.Text = noneHolds
	case a.Capacity == nil:
		c.Unknown, c.Text = true, "no capacity was found: "+a.Outcome
	case upward:
		c.OK, c.Text = r.Holds(a.Capacity.Low), capacityText(f, a)
		c.Unknown = !c.OK && a.LimitedBy == "client"
	case a.Capacity.Open:
		c.Unknown, c.Text = true, capacityText(f, a)
	default:
		c.OK, c.Text = r.Holds(a.Capacity.High), capacityText(f, a)
	}
	return c
}

// noneHolds is the answer of a search in which even the lowest load failed.
const noneHolds = "no load holds the objectives"

func capacityText(f *result.Find, a *result.FindAnswer) string {
	switch c := a.Capacity; {
	case c == nil:
		return noneHolds
	case c.Open:
		return fmt.Sprintf("%s is surely at least %s", capacityName, f.Load(c.Low))
	default:
		return fmt.Sprintf("%s is surely %s to %s", capacityName, unit.Digits(c.Low, 4), f.Load(c.High))
	}
}

// objectives are the objectives of a complete search: each tier's hold at some load, or at none.
func objectives(res *result.Result) []result.Check {
	switch f, t := res.Find, res.Tune; {
	case t != nil && t.State == "complete" && t.Best == nil:
		c := result.Check{Rule: strings.Join(t.Objectives, " "), Objective: true, Text: "no candidate holds the objectives at any load"}
		if t.ClientLimited() {
			c.Unknown, c.Text = true, "no capacity was found: client limit"
		}
		return []result.Check{c}
	case f == nil || f.State != "complete" && f.State != "out of time":
		return nil
	case len(f.Tiers) > 0:
		var list []result.Check
		for i := range f.Tiers {
			c := objective(f, &f.Tiers[i])
			c.Rule = f.Tiers[i].Tier + ": " + c.Rule
			list = append(list, c)
		}
		return list
	default:
		return []result.Check{objective(f, &f.FindAnswer)}
	}
}

func objective(f *result.Find, a *result.FindAnswer) result.Check {
	c := result.Check{Rule: strings.Join(a.Objectives, " "), Objective: true, OK: a.Capacity != nil, Text: capacityText(f, a)}
	if !c.OK && a.LimitedBy != "server" {
		c.Unknown, c.Text = true, "no capacity was found: "+a.Outcome
	}
	return c
}

// fitsSearch says why the rule cannot hold for a search, whatever it finds.
func (r *Rule) fitsSearch(f *result.Find, tier string) error {
	switch {
	case f.Answer(tier) == nil:
		return fmt.Errorf("%s: the search has no tier %q", r.Name, tier)
	case r.At != 0:
		return fmt.Errorf("%s: remove @ and the load after it, because the capacity is a load itself", r.Text)
	}
	return r.checkUnit(f.Unit())
}
