// Package compare compares two runs, or two sets of runs: which numbers are better or worse, by how much, and with what
// confidence. Each change is judged by the variation of its number, within a run and between runs, so that noise gives no
// alarm and a real change is found.
package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
)

// Options control the judgment.
type Options struct {
	// Confidence is the probability that equal sides give no alarm, for all numbers of the comparison together.
	Confidence float64
	// Least is the smallest relative change that counts: an alarm needs an interval beyond it.
	Least float64
}

// Defaults returns the default options.
func Defaults() Options { return Options{Confidence: 0.95, Least: 0} }

// ErrApart means that two sides measured different loads, or are searches without a common answer.
var ErrApart = errors.New("nothing can be compared")

// Finding is the result of comparing a number, or of a whole comparison.
type Finding string

// The findings.
const (
	Better  Finding = "better"
	Worse   Finding = "worse"
	Same    Finding = "no difference seen"
	Slight  Finding = "may be smaller than --least" // a difference that may be smaller than Options.Least
	Unknown Finding = "cannot tell"                 // a change of Resolution could not have been seen
	Shown   Finding = ""                            // for information: the number raises no alarm
)

// Row is one number on both sides.
type Row struct {
	Level  string  `json:"level"` // empty for the capacity of a search
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Higher bool    `json:"higher_is_better"`
	A      float64 `json:"a"`
	B      float64 `json:"b"`
	Change float64 `json:"change"` // B/A-1
	// Low and High are the confidence interval of the change, with the confidence of the finding; both are 0 if there is
	// none.
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Finding Finding `json:"finding"`
	// Why says why there is no interval; empty if there is one.
	Why string `json:"why,omitempty"`

	contrast contrast
	failures *failures // set for error_rate, which is tested by counts
}

// Report is a whole comparison.
type Report struct {
	A          []Side  `json:"a"`
	B          []Side  `json:"b"`
	Confidence float64 `json:"confidence"`
	Finding    Finding `json:"finding"`
	// Headline sums up all rows in a sentence about B.
	Headline string `json:"headline"`
	Rows     []Row  `json:"rows"`
	// Remarks say what the reader should know before the numbers: other workloads and goodput bounds first, then runs that
	// are not valid, levels that only one side has, and numbers that cannot be told.
	Remarks []string `json:"remarks,omitempty"`

	decided     float64 // the confidence of the intervals
	least       float64 // Options.Least
	otherBounds bool    // the runs have different goodput bounds, so that goodput cannot be compared
}

// Side is one run to compare.
type Side struct {
	Name string         `json:"name"`
	Run  *result.Result `json:"-"`
}

// names are the numbers that are compared if both sides have them, the most important first.
var names = []string{
	"throughput", "avg", "p50", "p90", "p99", "error_rate",
	"ttft.avg", "ttft.p50", "ttft.p99", "itl.avg", "itl.p99", "request_latency.avg", "request_latency.p99", "output_token_throughput",
	"goodput", "server.queue", "server.compute",
}

// informative numbers are shown but raise no alarm: they have no spread of their own.
var informative = map[string]bool{"goodput": true, "server.queue": true, "server.compute": true}

// Runs compares the runs of side a, the old, with those of side b, the new.
func Runs(a, b []Side, o Options) (*Report, error) {
	rep := &Report{A: a, B: b, Confidence: o.Confidence, Finding: Same}
	rep.remark()
	q := quantiles{}
	if err := rep.capacities(q); err != nil {
		return nil, err
	}
	for _, key := range commonLevels(a, b) {
		rep.level(key, pick(a, key), pick(b, key), q)
	}
	if la, lb := only(a), only(b); len(rep.Rows) == 0 && la != nil && lb != nil {
		rep.level("the only level", la, lb, q) // tools name levels differently, or not at all
	}
	if len(rep.Rows) == 0 {
		return nil, fmt.Errorf("%w: the runs have no common level (%s against %s)", ErrApart, levelsOf(a), levelsOf(b))
	}
	rep.judge(o)
	return rep, nil
}

func (rep *Report) level(key string, la, lb []*result.Level, q quantiles) {
	headline := false
	for _, name := range names {
		ra, ok := la[0].Read(name)
		rb, too := lb[0].Read(name)
		if len(la)+len(lb) == 2 && (ra.Needs > 0 || rb.Needs > 0) {
			continue // reports do not show a percentile with so few requests either
		}
		if !ok || !too || headline && strings.HasPrefix(name, "request_latency.") || name == "goodput" && rep.otherBounds {
			continue
		}
		row := Row{Level: key, Name: name, Unit: ra.Unit, Higher: ra.Higher, Finding: Unknown}
		if name == "error_rate" {
			row.failures, row.Why = failuresOf(la, lb), "by counts"
			row.A, row.B = row.failures.shares()
			row.Finding = Same
		} else {
			row.contrast = q.contrastOf(q.estimates(la, name), q.estimates(lb, name))
			if row.contrast.reach == nil {
				row.Why = noInterval(slices.Concat(la, lb), name)
			}
			row.A, row.B = row.contrast.a, row.contrast.b
		}
		if informative[name] {
			row.Finding, row.contrast.reach, row.Why = Shown, nil, "for information"
		} else if row.failures == nil && (row.A == 0 && row.B == 0 || ra.Unit == "ms" && (row.A == 0 || row.B == 0)) {
			continue // a latency of 0 means that the file does not have the number
		}
		if row.A > 0 {
			row.Change = row.B/row.A - 1
		}
		if row.contrast.log != 0 {
			row.Change = math.Expm1(row.contrast.log)
		}
		headline = headline || name == "avg"
		rep.Rows = append(rep.Rows, row)
	}
}

// commonLevels are the levels that every run has, in the order of the first.
func commonLevels(a, b []Side) []string {
	var out []string
	all := slices.Concat(a, b)
	for i := range all[0].Run.Levels {
		key := measure.LevelName(&all[0].Run.Levels[i])
		if !slices.Contains(out, key) && !slices.ContainsFunc(all, func(s Side) bool { return find(s.Run, key) == nil }) {
			out = append(out, key)
		}
	}
	return out
}

func find(run *result.Result, key string) *result.Level {
	for i := range run.Levels {
		if measure.LevelName(&run.Levels[i]) == key {
			return &run.Levels[i]
		}
	}
	return nil
}

func pick(sides []Side, key string) []*result.Level {
	return convert.All(sides, func(s Side) *result.Level { return find(s.Run, key) })
}

// only returns the levels of runs with one level each; nil if a run has more.
func only(sides []Side) []*result.Level {
	out := make([]*result.Level, len(sides))
	for i, s := range sides {
		if len(s.Run.Levels) != 1 {
			return nil
		}
		out[i] = &s.Run.Levels[0]
	}
	return out
}

func levelsOf(sides []Side) string {
	var out []string
	for _, s := range sides {
		for i := range s.Run.Levels {
			if key := measure.LevelName(&s.Run.Levels[i]); !slices.Contains(out, key) {
				out = append(out, key)
			}
		}
	}
	if len(out) == 0 {
		return "no level at all"
	}
	return strings.Join(out, ", ")
}

// estimates are the number and its error in each run.
func (q quantiles) estimates(levels []*result.Level, name string) []estimate {
	return convert.All(levels, func(lv *result.Level) estimate { return q.estimateOf(lv, name) })
}

// remark notes what makes a comparison doubtful, the gravest first.
func (rep *Report) remark() {
	all := slices.Concat(rep.A, rep.B)
	first := all[0].Run
	for _, s := range all[1:] {
		differ := Differences(first, s.Run)
		other := s.Run.Workload != first.Workload && s.Run.Workload != "" && first.Workload != ""
		if differ == "" && other && first.Plan != nil && s.Run.Plan != nil {
			differ = OtherData
		}
		what := "has other options"
		if other {
			what = "sent a different workload"
		}
		if remark := fmt.Sprintf("%s %s than %s", s.Name, what, all[0].Name); differ != "" {
			rep.Remarks = append(rep.Remarks, remark+": "+differ)
		} else if other {
			rep.Remarks = append(rep.Remarks, remark)
		}
	}
	for _, s := range all[1:] {
		if s.Run.GoodputBounds != first.GoodputBounds {
			rep.otherBounds = true
			rep.Remarks = append(rep.Remarks, fmt.Sprintf("the goodput bounds differ, so goodput is not compared: %s in %s, %s in %s",
				bounds(first), all[0].Name, bounds(s.Run), s.Name))
		}
	}
	for _, s := range all {
		if v := s.Run.Verdict.State; v != result.Valid && v != "" {
			rep.Remarks = append(rep.Remarks, fmt.Sprintf("%s is %s", s.Name, v))
		}
	}
	if a, b := levelsOf(rep.A), levelsOf(rep.B); a != b && (!searches(rep.A) || !searches(rep.B)) {
		rep.Remarks = append(rep.Remarks, fmt.Sprintf("levels that only one side has are not compared (%s against %s)", a, b))
	}
}

// bounds words the goodput bounds of a run.
func bounds(run *result.Result) string { return cmp.Or(run.GoodputBounds, "none noted") }
