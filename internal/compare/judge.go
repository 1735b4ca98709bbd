package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/stats"
)

// Resolution is the change that a comparison must be able to find before it reports "no difference seen". It is also what a run may be
// worse than its baseline by default.
const Resolution = plan.Threshold

// reserve is the share of the allowed false alarms that is used. The rest covers assumptions that hold only approximately: that
// batches are independent, and that logarithms of their means and of runs are normal.
const reserve = 0.7

// judge decides row by row, then overall: one worse row makes the comparison worse.
func (rep *Report) judge(o Options) {
	alpha := decide(rep.Rows, 1-o.Confidence, func(r *Row, alpha float64) bool { return r.side(alpha, o.Least) != 0 })
	resolution := max(Resolution, o.Least)
	for i := range rep.Rows {
		r := &rep.Rows[i]
		if r.Finding == Shown {
			continue
		}
		r.bound(alpha)
		switch r.side(alpha, o.Least) {
		case 1:
			r.Finding = Worse
		case -1:
			r.Finding = Better
		case 0:
			switch {
			case r.side(alpha, 0) != 0:
				r.Finding = Slight
			case r.sees(resolution, 1-alpha):
				r.Finding = Same
			default:
				r.Finding = Unknown
			}
		}
	}
	rep.decided, rep.least = 1-alpha, o.Least
	rep.conclude()
	rep.Headline = rep.conclusion()
}

// conclude derives the overall finding. A row without failures on both sides says nothing about other rows.
func (rep *Report) conclude() {
	rep.Finding = Unknown
	var unseen []string
	for i := range rep.Rows {
		switch r := &rep.Rows[i]; {
		case r.Finding == Worse:
			rep.Finding = Worse
		case r.Finding == Better && rep.Finding != Worse:
			rep.Finding = Better
		case (r.Finding == Same || r.Finding == Slight) && rep.Finding == Unknown && r.failures == nil:
			rep.Finding = Same
		case r.Finding == Unknown && !slices.Contains(unseen, r.Name):
			unseen = append(unseen, r.Name)
		}
	}
	switch {
	case rep.Finding != Unknown && len(unseen) > 0:
		rep.Remarks = append(rep.Remarks, "cannot tell about "+strings.Join(unseen, ", ")+": "+rep.Unseen(rep.least))
	case len(unseen) == 0 && rep.Finding == Unknown:
		rep.Finding = Same // there are only failures to compare
	}
}

// Unseen says that a change of this share, or of Resolution if that is more, could not have been found.
func (rep *Report) Unseen(share float64) string {
	measure := "measure more requests"
	if rep.isSearch() {
		measure = "search with a longer --probe-max and --confirm"
	}
	return fmt.Sprintf("a change of %g %% could have gone unseen; %s, or compare three or more runs on each side", max(Resolution, share)*100, measure)
}

// Regressions returns the rows that are worse by more than the allowed share: the whole interval is beyond it. More failures are
// always a regression. The rows have the bounds that decided. Searches are held to their capacities.
func (rep *Report) Regressions(allowed float64) []Row {
	margin := func(r *Row) float64 {
		if r.failures != nil {
			return 0
		}
		return allowed
	}
	rows := rep.gated()
	alpha := decide(rows, 1-rep.Confidence, func(r *Row, alpha float64) bool { return r.side(alpha, margin(r)) > 0 })
	var out []Row
	for _, r := range rows {
		if r.side(alpha, margin(&r)) > 0 {
			r.bound(alpha)
			out = append(out, r)
		}
	}
	return out
}

// Sees reports whether a number of the comparison, except failures, would show a change of this share, or of Resolution if that
// is more. Of searches it must be every capacity.
func (rep *Report) Sees(share float64) bool {
	sees := func(r Row) bool { return r.failures == nil && r.sees(max(Resolution, share), rep.decided) }
	if rep.isSearch() {
		return !slices.ContainsFunc(rep.gated(), func(r Row) bool { return !sees(r) })
	}
	return slices.ContainsFunc(rep.Rows, sees)
}

// decide is Hochberg's rule: with m rows, the largest probability of error alpha/j at which a difference is found in m-j+1 rows or
// more. For rows that vary together, as latencies do, the chance of any false alarm stays below alpha.
func decide(rows []Row, alpha float64, found func(*Row, float64) bool) float64 {
	alpha *= reserve
	m := 0
	for i := range rows {
		if rows[i].testable() {
			m++
		}
	}
	for j := 1; j < m; j++ {
		n := 0
		for i := range rows {
			if found(&rows[i], alpha/float64(j)) {
				n++
			}
		}
		if n > m-j {
			return alpha / float64(j)
		}
	}
	return alpha / float64(max(1, m))
}

// testable reports whether the row can give an alarm.
func (r *Row) testable() bool {
	return r.contrast.reach != nil || r.failures != nil && r.failures.a+r.failures.b > 0
}

// side is 1 if the row is worse by more than the margin with a probability of error of at most alpha, -1 if it is better,
// else 0.
func (r *Row) side(alpha, margin float64) int {
	up := 0
	switch {
	case !r.testable():
	case r.failures != nil:
		up = r.failures.direction(alpha)
	default:
		switch low, high, ok := r.contrast.bounds(1 - alpha); {
		case !ok:
		case low > margin:
			up = 1
		case high < -margin:
			up = -1
		}
	}
	if r.Higher {
		return -up
	}
	return up
}

// bound fills in the interval for a probability of error of alpha.
func (r *Row) bound(alpha float64) {
	if r.contrast.reach != nil {
		var bounded bool
		if r.Low, r.High, bounded = r.contrast.bounds(1 - alpha); !bounded {
			r.Why = "a run is too short"
		}
	}
}

// sees reports whether the row would show a change of that share.
func (r *Row) sees(share, confidence float64) bool {
	return r.failures != nil || r.contrast.reach != nil && r.contrast.sees(share, confidence)
}

// failures are the failed requests of both sides, and all that ended.
type failures struct{ a, allA, b, allB float64 }

func failuresOf(a, b []*result.Level) *failures {
	f := &failures{}
	f.a, f.allA = failed(a)
	f.b, f.allB = failed(b)
	return f
}

func failed(levels []*result.Level) (failed, ended float64) {
	for _, lv := range levels {
		failed += float64(lv.Client.Failed)
		ended += float64(lv.Client.Requests + lv.Client.Failed)
	}
	return failed, ended
}

// shares are the failures in percent.
func (f *failures) shares() (a, b float64) {
	return 100 * f.a / max(1, f.allA), 100 * f.b / max(1, f.allB)
}

// direction is 1 if the share of failures rose, -1 if it fell, else 0. If the sides are equal, the failures of one side are a
// binomial number, given the failures of both.
func (f *failures) direction(alpha float64) int {
	const burst = 4 // failures come in bursts: four count as one independent failure
	a, b := f.a/burst, f.b/burst
	switch share := f.allB / (f.allA + f.allB); {
	case 2*stats.BinomialTail(b, a+b, share) <= alpha:
		return 1
	case 2*stats.BinomialTail(a, a+b, 1-share) <= alpha:
		return -1
	}
	return 0
}
