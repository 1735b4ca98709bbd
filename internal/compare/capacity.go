package compare

import (
	"fmt"
	"slices"

	"github.com/redline-bench/redline/internal/result"
)

// capacityLevel is what stands in place of a level for the capacities of searches.
const capacityLevel = "capacity"

// capacities adds a row for each tier of searches. It returns false where a run is no search.
func (rep *Report) capacities(a, b []Side, q quantiles) bool {
	first := a[0].Run.Find
	if !searches(a) || !searches(b) {
		return false
	}
	for _, tier := range tiersOf(first) {
		ea, eb := q.capacitiesOf(a, tier), q.capacitiesOf(b, tier)
		if ea == nil || eb == nil {
			rep.Remarks = append(rep.Remarks, fmt.Sprintf("a run found no capacity%s, so it is not compared", ofTier(first, tier)))
			continue
		}
		row := Row{Level: capacityLevel + ofTier(first, tier), Name: capacityLevel, Unit: first.Unit(), Higher: true, Finding: Unknown}
		row.contrast = q.contrastOf(ea, eb)
		row.A, row.B = row.contrast.a, row.contrast.b
		if row.A > 0 {
			row.Change = row.B/row.A - 1
		}
		rep.Rows = append(rep.Rows, row)
	}
	return true
}

// searches reports whether all runs of a side are searches.
func searches(sides []Side) bool {
	return !slices.ContainsFunc(sides, func(s Side) bool { return s.Run.Find == nil })
}

// tiersOf are the names of a search's tiers; the only one has no name.
func tiersOf(f *result.Find) []string {
	if len(f.Tiers) == 0 {
		return []string{""}
	}
	var out []string
	for i := range f.Tiers {
		out = append(out, f.Tiers[i].Tier)
	}
	return out
}

func ofTier(f *result.Find, tier string) string {
	if len(f.Tiers) == 0 {
		return ""
	}
	return " of tier " + tier
}

// capacitiesOf are the capacities of a tier, with their intervals; nil where a run has none.
func (q quantiles) capacitiesOf(sides []Side, tier string) []estimate {
	var out []estimate
	for _, s := range sides {
		a := s.Run.Find.Answer(tier)
		if a == nil || a.Capacity == nil || a.Capacity.Value <= 0 {
			return nil
		}
		out = append(out, estimate{value: a.Capacity.Value, reach: q.ofInterval(a.Capacity.Value, &a.Capacity.Interval)})
	}
	return out
}
