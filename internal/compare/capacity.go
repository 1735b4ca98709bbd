package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/result"
)

// capacityName is the number of a search. A tier has its own, as in rules: capacity.fast.
const capacityName = "capacity"

// allHold is the outcome of a search whose objectives hold even at the highest load.
const allHold = "all hold"

// capacities adds a row for each tier of searches; none where a run is no search. It returns an error if the runs searched for different
// things, or found no capacity.
func (rep *Report) capacities(q quantiles) error {
	all := slices.Concat(rep.A, rep.B)
	if !searches(all) {
		return nil
	}
	if why := unlike(all); why != "" {
		return fmt.Errorf("%w: %s", ErrApart, why)
	}
	first, missing := all[0].Run.Find, ""
	for _, tier := range tiersOf(first) {
		row := Row{Name: capacityName, Unit: first.Unit(), Higher: true, Finding: Unknown}
		if tier != "" {
			row.Name += "." + tier
		}
		a, b := q.capacitiesOf(rep.A, tier), q.capacitiesOf(rep.B, tier)
		if a == nil || b == nil {
			missing = noCapacity(all, tier)
			rep.Remarks = append(rep.Remarks, fmt.Sprintf("%s is not compared: %s", row.Name, missing))
			continue
		}
		row.contrast = q.contrastOf(a, b)
		row.A, row.B = row.contrast.a, row.contrast.b
		row.Change = row.B/row.A - 1
		rep.Rows = append(rep.Rows, row)
	}
	if len(rep.Rows) == 0 {
		return fmt.Errorf("%w: %s", ErrApart, missing)
	}
	return nil
}

// gated are the rows that hold a run to a baseline: all, or the capacities of searches, which come first. The levels of a search are its
// last loads, with latencies near their limits on purpose.
func (rep *Report) gated() []Row {
	n := 0
	for n < len(rep.Rows) && rep.Rows[n].Level == "" {
		n++
	}
	if n == 0 {
		return rep.Rows
	}
	return rep.Rows[:n]
}

// isSearch tells that the rows begin with a capacity.
func (rep *Report) isSearch() bool { return rep.Rows[0].Level == "" }

// searches reports whether all runs are searches.
func searches(sides []Side) bool {
	return !slices.ContainsFunc(sides, func(s Side) bool { return s.Run.Find == nil || s.Run.Find.OneLoad() })
}

// unlike says how the searches differ in what they searched for; "" if they do not.
func unlike(all []Side) string {
	first := all[0].Run.Find
	for _, s := range all[1:] {
		f := s.Run.Find
		if f.By != first.By {
			return fmt.Sprintf("%s searched by %s, %s by %s", all[0].Name, first.By, s.Name, f.By)
		}
		for _, tier := range tiersOf(first) {
			a, b := first.Answer(tier), f.Answer(tier)
			if b == nil {
				return fmt.Sprintf("%s has no tier %s", s.Name, tier)
			}
			if !slices.Equal(a.Objectives, b.Objectives) {
				return fmt.Sprintf("the objectives of %s are %q, those of %s %q", all[0].Name, a.Objectives, s.Name, b.Objectives)
			}
		}
	}
	return ""
}

// tiersOf are the names of a search's tiers; the only one has no name.
func tiersOf(f *result.Find) []string {
	if len(f.Tiers) == 0 {
		return []string{""}
	}
	return convert.All(f.Tiers, func(a result.FindAnswer) string { return a.Tier })
}

// noCapacity names the first run without a capacity, and the outcome of its search.
func noCapacity(all []Side, tier string) string {
	i := slices.IndexFunc(all, func(s Side) bool { return s.Run.Find.Answer(tier).Capacity == nil })
	return fmt.Sprintf("%s found no capacity (%s)", all[i].Name, all[i].Run.Find.Answer(tier).Outcome)
}

// capacitiesOf are the capacities of a tier, with their intervals; nil where a run has none.
func (q quantiles) capacitiesOf(sides []Side, tier string) []estimate {
	var out []estimate
	for _, s := range sides {
		f := s.Run.Find
		a := f.Answer(tier)
		if a.Capacity == nil {
			return nil
		}
		out = append(out, estimate{value: a.Capacity.Value, reach: q.ofCapacity(f.By, a)})
	}
	return out
}

// ofCapacity is how far the true capacity may be from the one found, below the highest load of the search: a search that ended there is
// compared by that load. Where loads are whole numbers, the capacity is below the load that surely fails by at least one.
func (q quantiles) ofCapacity(by string, a *result.FindAnswer) reach {
	in := a.Capacity.Interval
	switch {
	case a.Outcome == allHold:
		in.Low, in.High = a.Capacity.Value, a.Capacity.Value
	case by != "rate" && !in.Open:
		in.High = max(a.Capacity.Value, math.Ceil(in.High)-1)
	}
	if in.Low == in.High {
		return func(float64) (float64, float64) { return 0, 0 }
	}
	return q.ofInterval(a.Capacity.Value, &in)
}
