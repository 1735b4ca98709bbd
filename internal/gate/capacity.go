package gate

import (
	"fmt"
	"strings"

	"github.com/redline-bench/redline/internal/result"
)

// capacityName is the number of a whole search, not of a level. A tier has its own: capacity.fast.
const capacityName = "capacity"

// aboutCapacity reports whether the rule is about the capacity that a search found, and for which tier.
func (r *Rule) aboutCapacity() (tier string, ok bool) {
	head, tier, _ := strings.Cut(r.Name, ".")
	return tier, head == capacityName
}

// checkCapacity holds a rule to the answer of a search. Where no load holds, the capacity is 0.
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
	switch a := f.Answer(tier); {
	case a.Capacity == nil && a.LimitedBy != "server":
		c.Unknown, c.Text = true, "no capacity was found: "+a.Outcome
	default:
		value := 0.0
		if a.Capacity != nil {
			value = a.Capacity.Value
		}
		c.OK, c.Text = r.Holds(value), capacityText(f, a)
	}
	return c
}

func capacityText(f *result.Find, a *result.FindAnswer) string {
	if a.Capacity == nil {
		return "no load holds the objectives"
	}
	return capacityName + " is " + f.Load(a.Capacity.Value)
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
	case f == nil || f.State != "complete":
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
