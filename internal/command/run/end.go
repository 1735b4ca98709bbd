package run

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/option"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/profile"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/scenario"
	"github.com/redline-bench/redline/internal/unit"
	"github.com/redline-bench/redline/internal/workload"
)

// end makes the result of all classes, writes it, and returns the exit code.
func (r *run) end() int {
	res := r.result()
	r.outcome.Sign(res, res.Workload)
	werr := report.WriteFile(r.Files, r.opts.json, res)
	for _, m := range r.classes {
		fmt.Fprintf(r.Stdout, "\nClass %s\n%s", m.Name, m.text.String())
	}
	r.table(res)
	if len(res.Classes) > 1 { // else the report of the class has them
		report.Workers(r.Stdout, res.Whole, r.Style())
	}
	report.Fleet(r.Stdout, res.Fleet)
	report.Server(r.Stdout, res.Whole, r.Style())
	report.Verdict(r.Stdout, res, r.Style())
	code := r.exitCode()
	if err := r.failures(); err != nil && code != command.ExitInterrupted {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(r.Stderr, "redline run: %s\n", strings.TrimSpace(line))
		}
	}
	if werr != nil {
		fmt.Fprintf(r.Stderr, "redline run: %v\n", werr)
		code = command.ExitUnwritten(werr)
	}
	return r.outcome.Finish(res, code)
}

// result joins the results of the classes.
func (r *run) result() *result.Result {
	r.whole.pulse.Stop()
	res := &result.Result{
		Schema: result.Schema, Tool: "redline", Version: r.Version, StartUnixNs: r.began.UnixNano(), EndUnixNs: time.Now().UnixNano(),
		Environment: profile.Environment(), Async: true, Verdict: result.Verdict{State: result.Valid}, Whole: r.whole.level(), Scenario: r.scenario.Name,
		Fleet: r.crew.result(),
	}
	var workloads []any
	for _, m := range r.classes {
		one := m.out.Result
		res.Classes = append(res.Classes, result.Class{
			Name: m.Name, Command: m.Command.Name, Plan: one.Plan, Model: one.Model, Options: one.Options, Workload: one.Workload, Verdict: one.Verdict, Error: one.Error,
		})
		for i := range one.Levels {
			res.Levels = append(res.Levels, one.Levels[i])
			res.Whole.Failures = append(res.Whole.Failures, one.Levels[i].Failures...)
		}
		verdict := one.Verdict
		verdict.Reasons = slices.Clone(one.Verdict.Reasons)
		for i := range verdict.Reasons {
			if why := &verdict.Reasons[i]; !strings.HasPrefix(why.What, m.Name+":") && !strings.HasPrefix(why.What, m.Name+",") {
				why.What = m.Name + ": " + why.What
			}
		}
		res.Verdict = measure.Worse(res.Verdict, verdict)
		res.Interrupted = res.Interrupted || one.Interrupted
		if one.Error != "" && res.Error == "" {
			res.Error = "class " + m.Name + ": " + one.Error
		}
		workloads = append(workloads, m.Name, one.Workload)
	}
	res.Workload = workload.Fingerprint(workloads...)
	if len(r.classes) == 1 { // it is the run of its command
		one := r.classes[0].out.Result
		res.Plan, res.Model, res.Options, res.Async, res.Workload, res.GoodputBounds = one.Plan, one.Model, one.Options, one.Async, one.Workload, one.GoodputBounds
	}
	return res
}

// head prints what will be run.
func (r *run) head() {
	name := cmp.Or(r.scenario.Name, r.path)
	fmt.Fprintf(r.Stdout, "scenario %s: %s\n", name, count(len(r.classes), "class", "classes"))
	if d := r.length(); d > 0 {
		fmt.Fprintf(r.Stdout, "the stages take %s\n", d)
	}
}

// checked prints what --check found: nothing.
func (r *run) checked() {
	fmt.Fprintf(r.Stdout, "%s: %s, no faults\n", r.path, count(len(r.classes), "class", "classes"))
	for _, m := range r.classes {
		fmt.Fprintf(r.Exact(), "  %s: %s\n", m.Name, option.CommandLine("redline "+m.Command.Name, m.load.Options()))
	}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// table prints one line a class, and one for all of them.
func (r *run) table(res *result.Result) {
	rows := [][]string{{"Class", "load", "requests", "failed", "sent/s", "p50", "p99", "verdict"}}
	add := func(lv *result.Level, name, load string, state result.State) {
		c := &lv.Client
		rows = append(rows, []string{
			name, load, strconv.FormatUint(c.Requests, 10), strconv.FormatUint(c.Failed, 10), unit.Digits(c.SendRate, 4),
			span(c, 50), span(c, 99), string(state),
		})
	}
	for i := range res.Levels {
		lv := &res.Levels[i]
		load := measure.LoadName(lv)
		if lv.Mode == plan.RequestRate && len(lv.Stages) > 1 {
			load = fmt.Sprintf("%d stages", len(lv.Stages))
		} else if len(lv.Stages) == 1 {
			load = lv.Stages[0].String()
		}
		j := slices.IndexFunc(res.Classes, func(c result.Class) bool { return c.Name == lv.Class })
		add(lv, lv.Class, load, res.Classes[j].Verdict.State)
	}
	if len(res.Classes) > 1 {
		add(res.Whole, scenario.Whole, "", res.Verdict.State)
	}
	report.Columns(r.Stdout, rows, 2, []string{"sent/s", "p50"}, r.Style())
}

// span is a percentile for people; "–" if it has too few requests.
func span(c *result.Client, p float64) string {
	if !result.Enough(p, c.Requests) {
		return "–"
	}
	q := c.Latency.Point(p)
	text := unit.Span(q.V)
	if q.AtLeast {
		return "≥ " + text
	}
	return text
}
