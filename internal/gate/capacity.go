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
	return tier, strings.EqualFold(head, capacityName)
}

// checkCapacity holds a rule to the answer of a search. Where no load holds, the capacity is 0.
func (r *Rule) checkCapacity(f *result.Find, tier string) result.Check {
	c := result.Check{Rule: r.Text}
	if f == nil {
		c.Text = "only 'redline find' and 'redline tune' measure a capacity"
		return c
	}
	a := f.Answer(tier)
	switch {
	case a == nil:
		c.Text = fmt.Sprintf("the search has no tier %q", tier)
	case a.Capacity == nil && a.LimitedBy != "server":
		c.Unknown, c.Text = true, "no capacity was found: "+a.Outcome
	default:
		value := 0.0
		if a.Capacity != nil {
			value = a.Capacity.Value
		}
		c.OK, c.Text = r.Holds(value), capacityName+" is "+Figure(result.Reading{Value: value, Unit: f.Unit()})
	}
	return c
}
