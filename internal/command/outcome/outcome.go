// Package outcome is what becomes of a result besides the console: files, the history, the gate and the live page.
package outcome

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/cleantext"
	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/convert"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/measure"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/report/records"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/traceid"
	"github.com/redline-bench/redline/internal/watch"
)

// Outcome is what becomes of one result. Every command that measures opens one before the load, so that what cannot be
// written is known in time, and finishes it after.
type Outcome struct {
	*command.IO
	opts    plan.Outcome
	command string
	line    string // the command line without secrets
	rules   []gate.Rule
	// baseline is the run that this one must not be worse than, if any.
	baseline *compare.Side
	gate     *gate.Gate
	live     *live
	records  []*records.Writer
	server   *watch.Watch // nil without --server-metrics
	// telemetry is what other tools get; nil if no option asks for it.
	telemetry *telemetries
	runID     string
	tracing   *traceid.Sampler
	samplers  map[string]*traceid.Sampler // of tracing, by traffic class
	// responses are the traffic classes whose spans come from Responses, not from records.
	responses map[string]bool
}

// Open checks everything that can be checked before the load. line is the command line without secrets.
func Open(p *command.IO, opts plan.Outcome, command, line string) (*Outcome, error) {
	o := &Outcome{IO: p, opts: opts, command: command, line: line, runID: newRunID(), responses: map[string]bool{}, samplers: map[string]*traceid.Sampler{}}
	if err := checkTelemetry(p, &opts); err != nil {
		return nil, err
	}
	o.tracing, o.telemetry = newSampler(o.runID, opts.TraceRequests), o.newTelemetries()
	for _, text := range opts.Asserts {
		r, err := gate.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("--assert: %w", err)
		}
		o.rules = append(o.rules, r)
	}
	if opts.Baseline != "" {
		run, name, err := runs.Load(p, opts.Baseline)
		if err != nil {
			return nil, fmt.Errorf("--baseline: %w", err)
		}
		if was := run.Command; was != "" && was != command {
			return nil, fmt.Errorf("--baseline %s is a run of 'redline %s', and this is one of 'redline %s': choose a run of the same command", opts.Baseline, was, command)
		}
		o.baseline = &compare.Side{Name: name, Run: run}
	}
	if err := p.Files.Writable(opts.Report, opts.JUnit); err != nil {
		return nil, err
	}
	if opts.Summary != "" {
		if err := p.Files.CheckAppend(opts.Summary); err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", opts.Summary, err)
		}
	}
	for _, path := range []string{opts.Records, opts.HistogramLog} {
		if path == "" {
			continue
		}
		w, err := records.Create(p.Files, path, p.Version)
		if err != nil {
			o.Close()
			return nil, err
		}
		o.records = append(o.records, w)
	}
	l, err := openLive(context.Background(), p, opts, o.telemetry)
	if err != nil {
		o.Close()
		return nil, err
	}
	o.live = l
	return o, nil
}

// Close lets go of what Finish did not; a nil outcome has nothing.
func (o *Outcome) Close() {
	if o == nil {
		return
	}
	for _, w := range o.records {
		w.Abort()
	}
	o.server.Stop()
	o.telemetry.close(context.Background())
	o.live.close()
}

// Begin shows the plan of the run on the live page.
func (o *Outcome) Begin(pl *plan.Plan) {
	if o != nil && o.live != nil {
		o.live.res = result.Result{Tool: "redline", Version: o.Version, StartUnixNs: time.Now().UnixNano(), Plan: pl}
		o.identify(&o.live.res)
	}
}

// identify adds the command and the label.
func (o *Outcome) identify(res *result.Result) {
	res.Command, res.CommandLine, res.Label, res.RunID = o.command, o.line, o.opts.Label, o.runID
}

// Server is what an outcome must know of the server under load.
type Server struct {
	Model string // the model of the run; empty if it has several
	// Own are the pages of its own metrics, for --server-metrics without a URL. More are pages that other options name.
	Own, More []string
	// Whole: files are written of the pages, by what Watch gives.
	Whole bool
}

// Watch reads the pages of --server-metrics after Connect; it is nil without them.
func (o *Outcome) Watch() *watch.Watch { return o.server }

// Connect starts to read the pages of --server-metrics, until soft ends, and to send the numbers of the run to other tools, until hard
// ends. It is called when the server is there, before the load.
func (o *Outcome) Connect(soft, hard context.Context, s Server) error {
	pages := slices.Concat(o.opts.ServerMetrics, s.More)
	if o.opts.OwnMetrics {
		pages = append(pages, s.Own...)
	}
	if len(pages) > 0 {
		w, err := watch.Start(soft, pages, watch.Config{Model: s.Model, Whole: s.Whole})
		if err != nil && soft.Err() == nil { // after an interrupt the load ends as soon as it begins
			return fmt.Errorf("--server-metrics: %w; give the address of the metrics, or leave out the option", err)
		}
		o.server = w
	}
	return o.openSenders(hard, s.Model)
}

// Progress shows the level in progress to others, not too often. now makes it.
func (o *Outcome) Progress(now func() *result.Level) { o.live.progress(now, o.server) }

// Searching shows how far a search has come.
func (o *Outcome) Searching(f *result.Find) { o.live.searching(f) }

// LevelEnds adds the server's metrics to a level that is over, and shows it to others; a nil outcome shows it to none.
func (o *Outcome) LevelEnds(ctx context.Context, lv *result.Level) {
	if o == nil {
		return
	}
	lv.ServerMetrics = o.server.Level(ctx, lv)
	o.live.levelEnds(lv)
}

// Require adds rules to those of the options.
func (o *Outcome) Require(rules ...gate.Rule) { o.rules = append(o.rules, rules...) }

// Tap writes and counts every record where files or other tools ask for them; it is nil where none does. fromSend: the latency of an
// open loop counts from the send time, not from the due time.
func (o *Outcome) Tap(fromSend bool) func(lv *result.Level, window int, r *record.Record) error {
	if o == nil || len(o.records) == 0 && o.telemetry == nil {
		return nil
	}
	var last *result.Level // the level that these belong to
	var sampler *traceid.Sampler
	var name string
	var fromDue bool
	return func(lv *result.Level, window int, r *record.Record) error {
		if lv != last {
			last, sampler, name, fromDue = lv, o.spans(lv.Class), measure.LoadName(lv), lv.Mode.Scheduled() && !fromSend
		}
		o.telemetry.add(lv, fromDue, r)
		if id, ok := sampler.Pick(r.Slot, r.Sent); ok {
			o.trace(id, lv.Class, name, r)
		}
		if len(o.records) == 0 {
			return nil
		}
		mode := string(lv.Mode)
		if lv.Prompts != "" { // other levels differ in them
			mode += "_" + result.PromptsKey(lv.Prompts)
		}
		if lv.Class != "" {
			mode = lv.Class + ": " + mode
		}
		l := records.Level{Mode: mode, Value: lv.Rate, Window: window, FromDue: fromDue}
		if lv.Concurrency > 0 {
			l.Value = float64(lv.Concurrency)
		}
		for _, w := range o.records {
			if err := w.Add(l, r); err != nil {
				return err
			}
		}
		return nil
	}
}

// closeRecords completes the files of records.
func (o *Outcome) closeRecords() error {
	var err error
	for _, w := range o.records {
		err = errors.Join(err, w.Close())
	}
	o.records = nil
	return err
}

// Sign adds to a result that has its verdict what identifies the run, and checks its rules. workload is a hash of what
// was sent.
func (o *Outcome) Sign(res *result.Result, workload string) {
	o.identify(res)
	res.Workload = workload
	if lv := unreadLevel(res); lv != nil {
		lv.ServerMetrics = o.server.Level(context.Background(), lv)
	}
	res.Telemetry = o.telemetry.close(context.Background())
	o.gate = gate.Apply(res, o.rules)
	if o.baseline != nil {
		o.gate.Findings = append(o.gate.Findings, o.regressions(res)...)
	}
	res.Checks = o.gate.Findings
}

// unreadLevel is the level that gets the server's metrics of the whole run: that of all classes, or the last; nil if LevelEnds has given
// the levels their own.
func unreadLevel(res *result.Result) *result.Level {
	for i := range res.Levels {
		if res.Levels[i].ServerMetrics != nil {
			return nil
		}
	}
	if n := len(res.Levels); res.Whole == nil && n > 0 {
		return &res.Levels[n-1]
	}
	return res.Whole
}

// Finish writes what was asked for and returns the exit code: the gate's where the run itself went well. Sign comes before.
func (o *Outcome) Finish(res *result.Result, code int) int {
	g := o.gate
	gated := len(o.rules) > 0 || o.baseline != nil
	o.keep(res)
	err := errors.Join(o.closeRecords(), o.writeReport(res), o.writeGate(res, g))
	defer o.live.end(context.Background(), res)
	for _, f := range g.Findings {
		switch {
		case !f.OK:
			at := ""
			if f.Level != "" {
				at = " at " + f.Level
			}
			fmt.Fprintf(o.Stderr, "%s: %s%s: %s\n", missed(&f, g.Invalid != ""), f.Rule, at, f.Text)
		case o.baseline != nil && f.Rule == o.baselineRule():
			fmt.Fprintf(o.Stdout, "%s: %s\n", f.Rule, f.Text)
		}
	}
	for i := range res.Telemetry {
		if lost := res.Telemetry[i].Lost(); lost != "" {
			fmt.Fprintf(o.Stderr, "warning: %s\n", cleantext.Line(lost)) // it may contain words of the receiver
		}
	}
	if gated && g.Invalid != "" {
		why := g.Invalid
		if res.Error != "" { // the command prints the error itself
			why = string(res.Verdict.State)
		}
		fmt.Fprintf(o.Stderr, "the run cannot be judged: %s\n", why)
	}
	switch {
	case err != nil:
		if !strings.Contains(res.Error, err.Error()) { // a full disk ends the run, and its file too
			fmt.Fprintln(o.Stderr, err)
		}
		return command.ExitUnwritten(err)
	case !gated || code == command.ExitFailed: // simple and stress have found the server wrong by themselves
		return code
	case g.Outcome() == gate.Void:
		return command.ExitInvalid
	case g.Outcome() == gate.Missed && (code == command.ExitOK || code == command.ExitUnstable):
		return command.ExitAssertion
	}
	return code
}

// CheckRules refuses rules about numbers and levels that the run will not have.
func (o *Outcome) CheckRules(s *gate.Sample) error {
	for i := range o.rules {
		if err := o.rules[i].Fits(s); err != nil {
			return fmt.Errorf("--assert %w", err)
		}
	}
	return nil
}

// unlike says why the baseline measured something else; "" if it did not.
func (o *Outcome) unlike(res *result.Result) string {
	old, name := o.baseline.Run, o.baseline.Name
	switch {
	case old.Plan != nil && res.Plan != nil && old.Plan.Target.Model != res.Plan.Target.Model && old.Plan.Target.Model != "":
		return fmt.Sprintf("%s measured another model, %q, not %q: choose a run of the same model", name, old.Plan.Target.Model, res.Plan.Target.Model)
	case old.Workload != "" && res.Workload != "" && old.Workload != res.Workload:
		return fmt.Sprintf("%s sent a different workload: %s; choose a run with the same options and data", name, cmp.Or(compare.Differences(old, res), compare.OtherData))
	}
	return ""
}

// baselineRule is the rule that --baseline and --max-regression make.
func (o *Outcome) baselineRule() string {
	return fmt.Sprintf("no worse than %s by more than %g%%", o.baseline.Name, o.opts.MaxRegression*100)
}

// regressions holds the run to the baseline: a number fails when its whole interval lies beyond what is allowed. A
// comparison that cannot be made is a finding too: a gate must not pass because it could not look.
func (o *Outcome) regressions(res *result.Result) []result.Check {
	rule := o.baselineRule()
	if why := o.unlike(res); why != "" {
		return []result.Check{{Rule: rule, Unknown: true, Text: "not comparable: " + why}}
	}
	rep, err := compare.Runs([]compare.Side{*o.baseline}, []compare.Side{{Name: "this run", Run: res}}, compare.Defaults())
	if err != nil {
		return []result.Check{{Rule: rule, Text: err.Error()}}
	}
	other := ""
	if differ := compare.Differences(o.baseline.Run, res); differ != "" {
		other = "; other options than " + o.baseline.Name + ": " + differ
	}
	switch worse := rep.Regressions(o.opts.MaxRegression); {
	case len(worse) > 0:
		return convert.All(worse, func(r compare.Row) result.Check {
			return result.Check{Rule: rule, Level: r.Level, Text: r.String() + other}
		})
	case !rep.Sees(o.opts.MaxRegression):
		return []result.Check{{Rule: rule, Unknown: true, Text: rep.Unseen(o.opts.MaxRegression) + other}}
	}
	return []result.Check{{Rule: rule, OK: true, Text: rep.Kept(o.opts.MaxRegression) + other}}
}

// missed is what a finding that is not good means. void: the run cannot be judged.
func missed(f *result.Check, void bool) string {
	switch {
	case void:
		return "not judged"
	case f.Unknown:
		return "cannot tell"
	case f.Objective:
		return "objective missed"
	}
	return "assertion failed"
}

// keep adds the run to the history. A history that cannot be written is a remark, not a failure: the run is good.
func (o *Outcome) keep(res *result.Result) {
	store := runs.Store(o.IO)
	if o.opts.NoHistory || len(res.Levels) == 0 && res.Find == nil && res.Tune == nil || store == nil {
		return
	}
	compact := func(res *result.Result) ([]byte, error) { return report.Encode(res, report.Compact) }
	if _, err := store.Add(res, compact); err != nil {
		fmt.Fprintf(o.Stderr, "warning: the run is not in the history: %v; --no-history leaves it out\n", err)
	}
}

func (o *Outcome) writeReport(res *result.Result) error {
	if o.opts.Report == "" {
		return nil
	}
	return runs.WritePage(o.Files, o.opts.Report, runs.OnePage(runs.Name(res), res))
}

func (o *Outcome) writeGate(res *result.Result, g *gate.Gate) error {
	title := runs.Name(res)
	var err error
	if o.opts.JUnit != "" {
		var b bytes.Buffer
		err = g.WriteJUnit(&b, title, float64(res.EndUnixNs-res.StartUnixNs)/1e9)
		if err == nil {
			err = o.Files.WriteFile(o.opts.JUnit, b.Bytes())
		}
	}
	if o.opts.Summary == "" {
		return err
	}
	// A CI page is a file that several steps add to.
	var b bytes.Buffer
	merr := gate.WriteMarkdown(&b, title, res, g)
	if merr == nil {
		merr = o.Files.AppendFile(o.opts.Summary, b.Bytes())
	}
	return errors.Join(err, merr)
}
