// Package agree checks that the outputs of a run agree: the console, the exit code, the result, the page, the summary and the
// JUnit file have the same verdict, the same reasons and the same outcome of each rule.
package agree

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
)

// Outputs are what a run printed and wrote.
type Outputs struct {
	Command        string // profile, llm, simple or stress
	Code           int
	Stdout, Stderr string
	// Result, Page, JUnit and Summary are the contents of the files; nil where the run could not start.
	Result, Page, JUnit, Summary []byte
	// Gated: the run had rules or a baseline.
	Gated bool
}

// pageRun is the part of a page's data that is checked.
type pageRun struct {
	Verdict result.State    `json:"verdict"`
	Reasons []report.Reason `json:"reasons"`
	Meaning string          `json:"meaning"`
	Judged  bool            `json:"judged"`
	Checks  []result.Check  `json:"checks"`
	Levels  []struct {
		State    string `json:"state"`
		Requests uint64 `json:"requests"`
		Failed   uint64 `json:"failed"`
	} `json:"levels"`
}

var (
	verdictLine = regexp.MustCompile(`(?m)^Verdict: ([a-z-]+), (.*)$`)
	pageData    = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)
	windowLine  = regexp.MustCompile(`(?m)^  (Pass \[|Unfinished: ).*$`) // is about some windows
	failureLine = regexp.MustCompile(`(?m)^  Failures: (\d+) of (\d+) requests`)
)

// foreign are words of perf_analyzer that a command of redline does not use: the verdict takes their place.
var foreign = []string{"Perf Analyzer", "[WARNING]", "WARNING:", "cb::Error", "time window.", "within time interval", "uniform distribution"}

// Check returns the state of the verdict, and everything on which the outputs contradict each other.
func (o *Outputs) Check() (result.State, []string) {
	c := &checker{Outputs: o}
	for _, words := range foreign {
		if strings.Contains(o.Stdout+o.Stderr, words) {
			c.failf("the console says %q", words)
		}
	}
	if o.Result == nil {
		c.refusal()
		return "", c.faults
	}
	if o.Command == "stress" {
		return c.stress(), c.faults
	}
	if err := json.Unmarshal(o.Result, &c.res); err != nil {
		c.failf("the result: %v", err)
		return "", c.faults
	}
	c.verdict()
	c.levels()
	c.exitCode()
	c.advice()
	c.page()
	c.rules()
	return c.res.Verdict.State, c.faults
}

type checker struct {
	*Outputs
	res    result.Result
	faults []string
}

func (c *checker) failf(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// report is where the command writes the verdict: simple keeps standard output for the numbers that scripts read.
func (c *checker) report() string {
	if c.Command == "simple" {
		return c.Stderr
	}
	return c.Stdout
}

// refusal checks a run that could not start: one line says why, and no verdict is given.
func (c *checker) refusal() {
	if c.Code == 0 {
		c.failf("no result, and exit code 0")
	}
	if strings.Contains(c.Stdout, "Verdict:") {
		c.failf("a verdict without a result")
	}
	if n := strings.Count(strings.TrimSpace(c.Stderr), "\n"); c.Stderr == "" || n > 1 {
		c.failf("a run that cannot start needs a line that says why, not %q", c.Stderr)
	}
}

// verdict checks that the console has the verdict and the reasons of the result.
func (c *checker) verdict() {
	v := &c.res.Verdict
	lines := verdictLine.FindAllStringSubmatch(c.report(), -1)
	if len(lines) != 1 || lines[0][1] != string(v.State) {
		c.failf("the console says %q, the result %s", lines, v.State)
		return
	}
	for _, r := range v.Reasons {
		text := r.What
		for i := range c.res.Levels { // levels with the same reason stand on one line
			text = strings.TrimPrefix(text, measure.LevelName(&c.res.Levels[i])+": ")
		}
		if !strings.Contains(c.report(), text) {
			c.failf("the console lacks the reason %q", r.What)
		}
	}
	stable := strings.Contains(lines[0][2], "every level is stable")
	tested := !slices.ContainsFunc(c.res.Levels, func(lv result.Level) bool { return lv.Untested || !lv.Stable })
	if stable && !tested {
		c.failf("the verdict says that every level is stable, and the result does not")
	}
	switch v.State {
	case result.Valid:
		if len(v.Reasons) > 0 {
			c.failf("valid, with reasons: %v", v.Reasons)
		}
	case result.Interrupted:
	default:
		if len(v.Reasons) == 0 {
			c.failf("%s without a reason", v.State)
		}
	}
	if c.res.Interrupted != (v.State == result.Interrupted) {
		c.failf("interrupted is %v, the verdict %s", c.res.Interrupted, v.State)
	}
}

// levels checks the blocks of the levels.
func (c *checker) levels() {
	state := c.res.Verdict.State
	for i := range c.res.Levels {
		lv := &c.res.Levels[i]
		switch {
		case state == result.Valid && (!lv.Stable && !lv.Untested || lv.ClientLimited || lv.ServerFailed || lv.TooShort || lv.Unfinished):
			c.failf("the run is valid, level %d is not", i)
		case lv.ServerFailed && state != result.ServerFailed && state != result.Interrupted,
			lv.ClientLimited && state == result.Unstable:
			c.failf("level %d: server failed %v, client-limited %v, in a run that is %s", i, lv.ServerFailed, lv.ClientLimited, state)
		}
	}
	marks := map[string]bool{
		"Unstable:": state == result.Valid, "(unstable)": state == result.Valid, "Unfinished:": state == result.Valid || state == result.Unstable,
		"(unfinished)": state == result.Valid, "Failures:": c.failed() == 0,
	}
	for _, words := range slices.Sorted(maps.Keys(marks)) {
		if wrong := marks[words]; wrong && strings.Contains(c.Stdout, words) {
			c.failf("the run is %s with %d failures, and the console says %q", state, c.failed(), words)
		}
	}
	c.percentiles()
	c.failures()
}

// percentiles checks that a percentile without enough requests is a dash.
func (c *checker) percentiles() {
	if c.Command != "profile" {
		return
	}
	shown := strings.Count(c.Stdout, "p99 latency: ")
	dashes := strings.Count(c.Stdout, "p99 latency: –")
	few, many := 0, 0
	for i := range c.res.Levels {
		switch n := c.res.Levels[i].Client.Requests; {
		case n == 0:
		case result.Enough(99, n):
			many++
		default:
			few++
		}
	}
	if shown != few+many || dashes != few {
		c.failf("%d levels have a p99 and %d too few requests; the console shows %d, and %d dashes", many, few, shown-dashes, dashes)
	}
}

// failures checks the counts of failures, and what is said when nothing succeeded.
func (c *checker) failures() {
	var printed []string
	for _, m := range failureLine.FindAllStringSubmatch(c.Stdout, -1) {
		printed = append(printed, m[1])
	}
	var counted []string
	succeeded := uint64(0)
	for i := range c.res.Levels {
		lv := &c.res.Levels[i]
		succeeded += lv.Client.Requests
		n := uint64(0)
		for _, f := range lv.Failures {
			n += f.Count
		}
		if n = max(n, lv.Client.Failed); n > 0 {
			counted = append(counted, fmt.Sprint(n))
		}
	}
	if c.Command == "profile" && !slices.Equal(printed, counted) {
		c.failf("the console counts %v failures, the result %v", printed, counted)
	}
	if said := strings.Contains(windowLine.ReplaceAllString(c.Stdout+c.Stderr, ""), "no request succeeded"); said && succeeded > 0 {
		c.failf("%d requests succeeded, and the console says that none did", succeeded)
	}
}

func (c *checker) failed() (n uint64) {
	for i := range c.res.Levels {
		n = max(n, c.res.Levels[i].Client.Failed)
		for _, f := range c.res.Levels[i].Failures {
			n += f.Count
		}
	}
	return n
}

// exitCode checks the exit code against the verdict and the rules.
func (c *checker) exitCode() {
	allowed := map[result.State][]int{
		result.Valid: {0}, result.Unstable: {0, 2}, result.TooShort: {0, 3}, result.ClientLimited: {0, 2, 3}, result.Failed: {1, 99},
		result.ServerFailed: {1, 99}, result.Interrupted: {130},
	}[c.res.Verdict.State]
	if c.Gated || len(c.res.Checks) > 0 { // the objectives of a search are checks too
		missed := slices.ContainsFunc(c.res.Checks, func(f result.Check) bool { return !f.OK && !f.Unknown })
		unknown := slices.ContainsFunc(c.res.Checks, func(f result.Check) bool { return f.Unknown })
		switch {
		case !c.res.Verdict.State.Judged():
			allowed = []int{5}
		case missed:
			allowed = []int{4}
		case unknown:
			allowed = []int{5}
		}
	}
	if !slices.Contains(allowed, c.Code) {
		c.failf("exit code %d of a run that is %s, with the checks %v; want %v", c.Code, c.res.Verdict.State, c.res.Checks, allowed)
	}
}

// advice checks that what the console suggests fits the cause.
func (c *checker) advice() {
	all := c.Stdout + c.Stderr
	longer := strings.Contains(all, "measure longer") || strings.Contains(all, "larger --measurement-interval")
	unstable := slices.ContainsFunc(c.res.Levels, func(lv result.Level) bool { return !lv.Stable && !lv.Untested || lv.TooShort })
	if longer && !unstable && c.res.Verdict.State != result.TooShort {
		c.failf("the advice is to measure longer, and the run is %s", c.res.Verdict.State)
	}
	if strings.Contains(all, "more CPU") && c.res.Verdict.State == result.Valid {
		c.failf("the advice is more CPU, and the run is valid")
	}
	if refused := strings.Contains(c.Stderr, "too many requests failed"); refused && c.res.Verdict.State != result.ServerFailed {
		c.failf("too many requests failed, and the run is %s", c.res.Verdict.State)
	}
}

// pageRun is the run of the page, and nil where the page has none.
func (c *checker) pageRun() *pageRun {
	m := pageData.FindSubmatch(c.Page)
	var p struct {
		Runs []pageRun `json:"runs"`
	}
	if m == nil || json.Unmarshal(m[1], &p) != nil || len(p.Runs) != 1 {
		c.failf("the page has no data of one run")
		return nil
	}
	return &p.Runs[0]
}

// stress checks a run of stress, whose console and JSON have no verdict: they tell whether every response was right.
func (c *checker) stress() result.State {
	run := c.pageRun()
	var sum struct {
		Failures    []any `json:"failures"`
		Interrupted bool  `json:"interrupted"`
	}
	if err := json.Unmarshal(c.Result, &sum); err != nil || run == nil {
		c.failf("the result: %v", err)
		return ""
	}
	want, code, word := result.Valid, 0, "\nPassed: "
	switch {
	case len(sum.Failures) > 0:
		want, code, word = result.Failed, 1, "\nFAILED: "
	case sum.Interrupted:
		want, code, word = result.Interrupted, 130, "\nInterrupted: "
	}
	if run.Verdict != want || c.Code != code || !strings.Contains(c.Stdout, word) {
		c.failf("%d failures, interrupted %v: the page says %s, the exit code is %d; want %s, %d and %q", len(sum.Failures), sum.Interrupted, run.Verdict, c.Code, want, code, word)
	}
	if bad := strings.Contains(string(c.JUnit), "<error"); bad == run.Judged {
		c.failf("the page judges %v, JUnit has an error: %v", run.Judged, bad)
	}
	if !strings.Contains(string(c.Summary), "**Verdict: "+string(want)+"**") {
		c.failf("the summary has another verdict:\n%s", c.Summary)
	}
	return run.Verdict
}

// page checks the page and the summary.
func (c *checker) page() {
	run := c.pageRun()
	if run == nil {
		return
	}
	if run.Verdict != c.res.Verdict.State || (len(run.Reasons) > 0) != (len(c.res.Verdict.Reasons) > 0) {
		c.failf("the page says %s %+v, the result %+v", run.Verdict, run.Reasons, c.res.Verdict)
	}
	for _, r := range run.Reasons {
		for _, what := range r.What {
			if !strings.Contains(c.report(), what) {
				c.failf("the console lacks the page's reason %q", what)
			}
		}
	}
	if !strings.Contains(c.report(), "Verdict: "+string(run.Verdict)+", "+run.Meaning+"\n") {
		c.failf("the page says %q, the console another sentence", run.Meaning)
	}
	if run.Judged != c.res.Verdict.State.Judged() || len(run.Checks) != len(c.res.Checks) {
		c.failf("the page judges %v with %d checks, the result has %d", run.Judged, len(run.Checks), len(c.res.Checks))
	}
	for i, lv := range run.Levels {
		if lv.Requests != c.res.Levels[i].Client.Requests || lv.State == "stable" && (!c.res.Levels[i].Stable || c.res.Levels[i].Untested) {
			c.failf("the page has level %d with %d requests as %q", i, lv.Requests, lv.State)
		}
	}
	if !strings.Contains(string(c.Summary), "**Verdict: "+string(c.res.Verdict.State)+"**") {
		c.failf("the summary has another verdict:\n%s", c.Summary)
	}
}

// rules checks what the console, JUnit and the result say about the rules.
func (c *checker) rules() {
	missed, unknown := 0, 0
	for _, f := range c.res.Checks {
		switch {
		case f.Unknown:
			unknown++
		case !f.OK:
			missed++
		}
	}
	judged := c.res.Verdict.State.Judged()
	if !judged {
		missed = 0
	}
	if n := strings.Count(c.Stderr, "assertion failed: ") + strings.Count(c.Stderr, "objective missed: "); n != missed {
		c.failf("%d rules are missed, and the console says so of %d", missed, n)
	}
	if n := strings.Count(c.Stderr, "cannot tell: "); judged && n != unknown {
		c.failf("%d rules are unknown, and the console says so of %d", unknown, n)
	}
	if said := strings.Contains(c.Stderr, "the run cannot be judged: "); said != (c.Gated && !judged) {
		c.failf("gated %v, judged %v, and the console says that the run cannot be judged: %v", c.Gated, judged, said)
	}
	if judged && strings.Count(string(c.JUnit), "<failure") != missed {
		c.failf("%d rules are missed, JUnit has another number:\n%s", missed, c.JUnit)
	}
}
