package compare

import "fmt"

// Kept says how the new side stands to an old one that it is not worse than by more than the allowed share: its largest change
// for the worse.
func (rep *Report) Kept(allowed float64) string {
	var worst *Row
	change := 0.0
	for i := range rep.Rows {
		r := &rep.Rows[i]
		c := r.Change
		if r.Higher {
			c = -c
		}
		if r.failures == nil && r.Finding != Shown && c > change {
			worst, change = r, c
		}
	}
	if worst == nil {
		return "no number is worse"
	}
	within := fmt.Sprintf("within %g %%", allowed*100)
	if change > allowed {
		within = fmt.Sprintf("not surely more than %g %%", allowed*100)
	}
	return fmt.Sprintf("%s %+.1f %% at %s, %s", worst.Name, worst.Change*100, worst.Level, within)
}
