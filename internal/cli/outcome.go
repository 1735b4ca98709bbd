package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redline-bench/redline/internal/compare"
	"github.com/redline-bench/redline/internal/gate"
	"github.com/redline-bench/redline/internal/history"
	"github.com/redline-bench/redline/internal/plan"
	"github.com/redline-bench/redline/internal/record"
	"github.com/redline-bench/redline/internal/report"
	"github.com/redline-bench/redline/internal/report/records"
	"github.com/redline-bench/redline/internal/result"
	"github.com/redline-bench/redline/internal/secret"
	"github.com/redline-bench/redline/internal/term"
)

// outcome is what becomes of a result besides the console: files, the history and the gate. Every command that
// measures opens one before the load, so that what cannot be written is known in time, and finishes it after.
type outcome struct {
	*IO
	opts    plan.Outcome
	command string
	rules   []gate.Rule
	// baseline is the run that this one must not fall behind, if any.
	baseline *compare.Side
	live     *live
	records  []*records.Writer
	// fromSend: the latency of an open loop counts from the send, not from the due time.
	fromSend bool
}

// openOutcome checks everything that can be checked before the load.
func (p *IO) openOutcome(opts plan.Outcome, command string) (*outcome, error) {
	o := &outcome{IO: p, opts: opts, command: command}
	for _, text := range opts.Asserts {
		r, err := gate.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("--assert: %w", err)
		}
		o.rules = append(o.rules, r)
	}
	if opts.Baseline != "" {
		run, name, err := p.loadRun(opts.Baseline)
		if err != nil {
			return nil, fmt.Errorf("--baseline: %w", err)
		}
		o.baseline = &compare.Side{Name: name, Run: run}
	}
	for _, path := range []string{opts.Report, opts.JUnit} {
		if err := p.writable(path); err != nil {
			return nil, err
		}
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
		w, err := records.Create(p.Files, path, p.version())
		if err != nil {
			o.close()
			return nil, err
		}
		o.records = append(o.records, w)
	}
	l, err := p.openLive(context.Background(), opts)
	if err != nil {
		o.close()
		return nil, err
	}
	o.live = l
	return o, nil
}

// close lets go of what finish did not; a nil outcome has nothing.
func (o *outcome) close() {
	if o == nil {
		return
	}
	for _, w := range o.records {
		w.Abort()
	}
	o.live.close()
}

// tap writes every record where files ask for them; it is nil where none does.
func (o *outcome) tap() func(lv *result.Level, window int, r *record.Record) error {
	if o == nil || len(o.records) == 0 {
		return nil
	}
	return func(lv *result.Level, window int, r *record.Record) error {
		scheduled := lv.Mode == plan.RequestRate || lv.Mode == plan.CustomIntervals || lv.Mode == plan.FixedSchedule
		l := records.Level{Mode: string(lv.Mode), Value: lv.Rate, Window: window, FromDue: scheduled && !o.fromSend}
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
func (o *outcome) closeRecords() error {
	var err error
	for _, w := range o.records {
		err = errors.Join(err, w.Close())
	}
	o.records = nil
	return err
}

// dressed is the IO of a command under the options: where progress goes, and whether anything is said at all.
func (p *IO) dressed(opts plan.Outcome) *IO {
	c := *p
	switch {
	case opts.Progress == "json":
		c.Line = term.NewJSON(p.Stderr, time.Now)
	case opts.Progress == "none" || opts.Quiet:
		c.Line = nil
	}
	if opts.Quiet {
		c.Stdout, c.OutTerminal = io.Discard, false
	}
	return &c
}

// sign puts into a result what tells it apart from others; workload is a hash of what was sent.
func (o *outcome) sign(res *result.Result, workload string) {
	res.Command, res.Label, res.Workload = o.command, o.opts.Label, workload
}

// finish writes what was asked for and returns the exit code: the gate's where the run itself went well.
func (o *outcome) finish(res *result.Result, code int) int {
	g := gate.Apply(res, o.rules)
	if o.baseline != nil {
		g.Findings = append(g.Findings, o.regressions(res)...)
	}
	gated := len(o.rules) > 0 || o.baseline != nil
	o.keep(res)
	err := errors.Join(o.closeRecords(), o.writeReport(res), o.writeGate(res, g))
	defer o.live.end(context.Background(), res)
	for _, f := range g.Findings {
		if !f.OK {
			fmt.Fprintf(o.Stderr, "%s: %s%s: %s\n", missed(&f), f.Rule, at(f.Level), f.Text)
		}
	}
	if gated && g.Invalid != "" {
		fmt.Fprintf(o.Stderr, "the run cannot be judged: %s\n", g.Invalid)
	}
	switch {
	case err != nil:
		if !strings.Contains(res.Error, err.Error()) { // a full disk ends the run, and its file too
			fmt.Fprintln(o.Stderr, err)
		}
		return unwritten(err)
	case !gated || code == exitFailed: // simple and stress have found the server wrong by themselves
		return code
	case g.Outcome() == gate.Void:
		return exitInvalid
	case g.Outcome() == gate.Missed && (code == exitOK || code == exitUnstable):
		return exitAssertion
	}
	return code
}

// regressions holds the run to the baseline: a number fails when its whole interval lies beyond what is allowed. A
// comparison that cannot be made is a finding too: a gate must not pass because it could not look.
func (o *outcome) regressions(res *result.Result) []gate.Finding {
	rule := fmt.Sprintf("no worse than %s by more than %g%%", o.baseline.Name, o.opts.MaxRegression*100)
	rep, err := compare.Runs([]compare.Side{*o.baseline}, []compare.Side{{Name: "this run", Run: res}}, compare.Defaults())
	if err != nil {
		return []gate.Finding{{Rule: rule, Text: err.Error()}}
	}
	var out []gate.Finding
	for _, r := range rep.Regressions(o.opts.MaxRegression) {
		out = append(out, gate.Finding{Rule: rule, Level: r.Level, Text: r.String()})
	}
	switch {
	case out != nil:
	case !rep.Sees(o.opts.MaxRegression):
		out = []gate.Finding{{Rule: rule, Unknown: true, Text: compare.Unseen(o.opts.MaxRegression)}}
	default:
		out = []gate.Finding{{Rule: rule, OK: true, Text: string(rep.Finding)}}
	}
	return out
}

// missed is what a finding that is not good means.
func missed(f *gate.Finding) string {
	if f.Unknown {
		return "cannot tell"
	}
	return "assertion failed"
}

func at(level string) string {
	if level == "" {
		return ""
	}
	return " at " + level
}

// keep adds the run to the history. A history that cannot be written is a remark, not a failure: the run is good.
func (o *outcome) keep(res *result.Result) {
	store := o.historyStore()
	if o.opts.NoHistory || len(res.Levels) == 0 || store == nil {
		return
	}
	compact := func(res *result.Result) ([]byte, error) { return encodeResult(res, report.Compact) }
	if _, err := store.Add(res, compact); err != nil {
		fmt.Fprintf(o.Stderr, "warning: the run is not in the history: %v; --no-history leaves it out\n", err)
	}
}

func (o *outcome) writeReport(res *result.Result) error {
	if o.opts.Report == "" {
		return nil
	}
	return o.writePage(o.opts.Report, onePage(runName(res), res))
}

// historyStore is where runs are kept: REDLINE_HISTORY, else the user's data folder. It is nil when that is "off" or
// there is no place.
func (p *IO) historyStore() *history.Store {
	dir := p.Getenv("REDLINE_HISTORY")
	switch {
	case dir == "off":
		return nil
	case dir != "":
	case p.Getenv("XDG_DATA_HOME") != "":
		dir = filepath.Join(p.Getenv("XDG_DATA_HOME"), "redline", "runs")
	case p.Getenv("HOME") != "":
		dir = filepath.Join(p.Getenv("HOME"), ".local", "share", "redline", "runs")
	case p.Getenv("LOCALAPPDATA") != "":
		dir = filepath.Join(p.Getenv("LOCALAPPDATA"), "redline", "runs")
	default:
		return nil
	}
	limit := int64(history.DefaultLimit)
	if mib, err := strconv.ParseInt(p.Getenv("REDLINE_HISTORY_MIB"), 10, 64); err == nil && mib > 0 {
		limit = mib << 20
	}
	return &history.Store{Dir: dir, Limit: limit, Output: p.Files}
}

func (o *outcome) writeGate(res *result.Result, g *gate.Gate) error {
	title := runName(res)
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

// publicURLs are addresses as they may be written down.
func publicURLs(list []string) []string {
	out := make([]string, len(list))
	for i, u := range list {
		out[i] = secret.PublicURL(u)
	}
	return out
}
