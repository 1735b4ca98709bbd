// Package compare tells whether two runs, or two sets of runs, differ: by how much, how surely, and for better or
// for worse. Every number is held against how much it varies by itself, within a run and from run to run, so that
// noise raises no alarm and a real change does not hide in it.
package compare

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/result"
)

// Options are how to judge.
type Options struct {
	// Confidence is the probability with which equal sides raise no alarm, all numbers of the comparison together.
	Confidence float64
	// Least is the smallest change worth a word, relative: a smaller one is no difference, however sure.
	Least float64
}

// Defaults are what holds unless said otherwise.
func Defaults() Options { return Options{Confidence: 0.95, Least: 0} }

// ErrApart says that two sides measured different loads.
var ErrApart = errors.New("nothing can be compared: the runs have no level in common")

// Finding is what a comparison comes to.
type Finding string

// The findings.
const (
	Better  Finding = "better"
	Worse   Finding = "worse"
	Same    Finding = "no difference seen"
	Unknown Finding = "cannot tell" // one run a side that does not show how it varies
	Shown   Finding = ""            // for information: the number raises no alarm
)

// Row is one number on both sides.
type Row struct {
	Level   string  `json:"level"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Higher  bool    `json:"higher_is_better"`
	A       float64 `json:"a"`
	B       float64 `json:"b"`
	Change  float64 `json:"change"` // B/A-1
	Low     float64 `json:"low"`    // of its confidence interval
	High    float64 `json:"high"`
	P       float64 `json:"p"`
	Finding Finding `json:"finding"`
}

// Report is a whole comparison.
type Report struct {
	A          []Side  `json:"a"`
	B          []Side  `json:"b"`
	Confidence float64 `json:"confidence"`
	Finding    Finding `json:"finding"`
	Rows       []Row   `json:"rows"`
	// Remarks say what the reader should know: other workloads, runs that are not valid, levels that only one side has.
	Remarks []string `json:"remarks,omitempty"`
}

// Side is one run as it was given.
type Side struct {
	Name string         `json:"name"`
	Run  *result.Result `json:"-"`
}

// names are the numbers that are compared where both sides have them, the headline first.
var names = []string{
	"throughput", "avg", "p50", "p90", "p99", "error_rate",
	"ttft.avg", "ttft.p50", "ttft.p99", "itl.avg", "itl.p99", "request_latency.avg", "request_latency.p99", "output_token_throughput",
	"server.queue", "server.compute",
}

// informative are shown but raise no alarm: they have no spread of their own.
var informative = map[string]bool{"server.queue": true, "server.compute": true}

// Runs compares the runs of side a, the old, with those of side b, the new.
func Runs(a, b []Side, o Options) (*Report, error) {
	rep := &Report{A: a, B: b, Confidence: o.Confidence, Finding: Same}
	rep.remark()
	for _, key := range commonLevels(a, b) {
		rep.level(key, pick(a, key), pick(b, key), o)
	}
	if la, lb := only(a), only(b); len(rep.Rows) == 0 && la != nil && lb != nil {
		rep.level("the only level", la, lb, o) // tools name their levels differently, or not at all
	}
	if len(rep.Rows) == 0 {
		return nil, fmt.Errorf("%w (%s against %s)", ErrApart, levelsOf(a), levelsOf(b))
	}
	rep.judge(o)
	return rep, nil
}

func (rep *Report) level(key string, la, lb []*result.Level, o Options) {
	for _, name := range names {
		ra, ok := la[0].Read(name)
		_, too := lb[0].Read(name)
		if !ok || !too {
			continue
		}
		row := Row{Level: key, Name: name, Unit: ra.Unit, Higher: ra.Higher}
		ea, eb := estimates(la, name), estimates(lb, name)
		if name == "error_rate" {
			row.shares(la, lb)
		} else {
			t := differ(ea, eb, o.Confidence)
			if t.A == 0 && t.B == 0 || ra.Unit == "ms" && !informative[name] && (t.A == 0 || t.B == 0) {
				continue // nothing takes no time: the file does not have the number
			}
			row.A, row.B, row.Change, row.Low, row.High, row.P = t.A, t.B, t.Change, t.Low, t.High, t.P
			row.Finding = Same
			switch {
			case informative[name]:
				row.Finding, row.P, row.Low, row.High = Shown, 1, 0, 0
			case !t.Judged:
				row.Finding, row.P = Unknown, 1
			}
		}
		rep.Rows = append(rep.Rows, row)
	}
}

// shares compares shares of failed requests: a two-proportion test on the counts.
func (r *Row) shares(a, b []*result.Level) {
	fa, na := failed(a)
	fb, nb := failed(b)
	r.A, r.B, r.P, r.Finding = 100*fa/max(1, na), 100*fb/max(1, nb), 1, Same
	if r.A > 0 {
		r.Change = r.B/r.A - 1
	}
	if na == 0 || nb == 0 || fa+fb == 0 {
		return
	}
	// Failures come in bursts, so they are worth fewer independent looks than their number.
	const burst = 4
	p := (fa + fb) / (na + nb)
	se := math.Sqrt(p * (1 - p) * (1/na + 1/nb) * burst)
	if se > 0 {
		r.P = math.Erfc(math.Abs(fb/nb-fa/na) / se / math.Sqrt2)
	}
}

func failed(levels []*result.Level) (failed, ended float64) {
	for _, lv := range levels {
		failed += float64(lv.Client.Failed)
		ended += float64(lv.Client.Requests + lv.Client.Failed)
	}
	return failed, ended
}

// judge decides row by row with Holm's rule, so that many rows do not make many false alarms, then overall: one row
// that is worse makes the comparison worse.
func (rep *Report) judge(o Options) {
	order := make([]int, 0, len(rep.Rows))
	for i := range rep.Rows {
		if f := rep.Rows[i].Finding; f != Unknown && f != Shown {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		rep.Finding = Unknown
		return
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(rep.Rows[i].P, rep.Rows[j].P) })
	for rank, i := range order {
		r := &rep.Rows[i]
		if r.P > (1-o.Confidence)/float64(len(order)-rank) {
			break
		}
		if math.Abs(r.Change) < o.Least || r.A == r.B {
			continue
		}
		r.Finding = Better
		if (r.B > r.A) != r.Higher {
			r.Finding = Worse
		}
	}
	unknown, judged := false, false
	for i := range rep.Rows {
		f := rep.Rows[i].Finding
		switch {
		case f == Worse:
			rep.Finding = Worse
		case f == Better && rep.Finding == Same:
			rep.Finding = Better
		}
		unknown = unknown || f == Unknown
		judged = judged || f != Unknown && f != Shown && rep.Rows[i].Name != "error_rate"
	}
	if rep.Finding == Same && unknown && !judged {
		rep.Finding = Unknown // that nothing failed on either side is not a comparison
	}
}

// Regressions are the rows that are surely worse, by more than the share that is allowed.
func (rep *Report) Regressions(allowed float64) []Row {
	var out []Row
	for _, r := range rep.Rows {
		if r.Finding != Worse {
			continue
		}
		worse := r.Change
		if r.Higher {
			worse = -worse
		}
		if worse > allowed || r.Name == "error_rate" {
			out = append(out, r)
		}
	}
	return out
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
	out := make([]*result.Level, len(sides))
	for i, s := range sides {
		out[i] = find(s.Run, key)
	}
	return out
}

// only are the levels of runs that have one each; nil where one has more.
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
func estimates(levels []*result.Level, name string) []estimate {
	out := make([]estimate, len(levels))
	for i, lv := range levels {
		out[i] = estimateOf(lv, name)
	}
	return out
}

func estimateOf(lv *result.Level, name string) estimate {
	r, _ := lv.Read(name)
	head, stat, _ := strings.Cut(name, ".")
	if m := lv.Metric(head); m != nil {
		in, ok := m.Intervals[stat]
		if ok {
			return fromInterval(r.Value, &in)
		}
		if stat == "avg" || stat == "" {
			return fromInterval(r.Value, m.Interval)
		}
		return estimate{value: r.Value}
	}
	return fromSeries(r.Value, course(lv, name))
}

// course is how a number went over the time of a level: by slices of its timeline, else by its windows.
func course(lv *result.Level, name string) []float64 {
	var out []float64
	if t := lv.Timeline; t != nil && len(t.Slices) >= 6 {
		for i := range t.Slices[:len(t.Slices)-1] { // the last is cut short
			if v, ok := ofSlice(&t.Slices[i], t.StepNs, name); ok {
				out = append(out, v)
			}
		}
		return out
	}
	for i := range lv.Windows {
		w := result.Level{Client: lv.Windows[i].Client}
		if r, ok := w.Read(name); ok && w.Client.Requests > 0 {
			out = append(out, r.Value)
		}
	}
	return out
}

func ofSlice(s *result.Slice, step int64, name string) (float64, bool) {
	const ms = 1e6
	if name == "throughput" {
		return float64(s.Ended) * 1e9 / float64(step), true
	}
	if s.Ended == 0 {
		return 0, false
	}
	switch name {
	case "avg":
		return float64(s.AvgNs) / ms, true
	case "p50":
		return float64(s.P50Ns) / ms, true
	case "p90":
		return float64(s.P90Ns) / ms, true
	case "p99":
		return float64(s.P99Ns) / ms, true
	}
	return 0, false
}

// remark notes what makes a comparison doubtful.
func (rep *Report) remark() {
	var workload string
	for _, s := range slices.Concat(rep.A, rep.B) {
		if v := s.Run.Verdict.State; v != result.Valid && v != "" {
			rep.Remarks = append(rep.Remarks, fmt.Sprintf("%s is %s", s.Name, v))
		}
		switch {
		case s.Run.Workload == "":
		case workload == "":
			workload = s.Run.Workload
		case workload != s.Run.Workload:
			rep.Remarks = append(rep.Remarks, fmt.Sprintf("%s sent another workload", s.Name))
		}
	}
	if a, b := levelsOf(rep.A), levelsOf(rep.B); a != b {
		rep.Remarks = append(rep.Remarks, fmt.Sprintf("levels that only one side has are left out (%s against %s)", a, b))
	}
}
