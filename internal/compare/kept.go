package compare

import (
	"fmt"
	"strings"
)

// Kept says how the new side stands to an old one that it is not worse than by more than the allowed share: the capacities of searches, or
// the largest change for the worse.
func (rep *Report) Kept(allowed float64) string {
	var out []string
	var worst *Row
	rows := rep.gated()
	for i := range rows {
		r := &rows[i]
		if rep.isSearch() {
			out = append(out, r.String()+within(r.loss(), allowed))
		} else if r.failures == nil && r.Finding != Shown && r.loss() > 0 && (worst == nil || r.loss() > worst.loss()) {
			worst = r
		}
	}
	switch {
	case out != nil:
		return strings.Join(out, "; ")
	case worst == nil:
		return "no number is worse"
	}
	return fmt.Sprintf("%s %+.1f %% at %s%s", worst.Name, worst.Change*100, worst.Level, within(worst.loss(), allowed))
}

// loss is the change for the worse; negative for the better.
func (r *Row) loss() float64 {
	if r.Higher {
		return -r.Change
	}
	return r.Change
}

// within says how a change for the worse stands to the allowed share.
func within(loss, allowed float64) string {
	switch {
	case loss <= 0:
		return ""
	case loss > allowed:
		return fmt.Sprintf(", not surely more than %g %%", allowed*100)
	}
	return fmt.Sprintf(", within %g %%", allowed*100)
}
