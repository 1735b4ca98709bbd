package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-bench/redline/internal/optset"
)

// Outcome is what becomes of a result besides the console: pages, records, history, and the gate. Every command that
// measures has these options.
type Outcome struct {
	Report        string   `json:"report,omitempty"`         // HTML page
	Dash          bool     `json:"dash,omitempty"`           // live page
	DashListen    string   `json:"dash_listen,omitempty"`    // its address
	Records       string   `json:"records,omitempty"`        // every request, .parquet or .csv
	HistogramLog  string   `json:"histogram_log,omitempty"`  // HdrHistogram log
	MetricsListen string   `json:"metrics_listen,omitempty"` // Prometheus endpoint during the run
	Asserts       []string `json:"asserts,omitempty"`
	Baseline      string   `json:"baseline,omitempty"`
	// MaxRegression is the share by which a run may be worse than the baseline: 0.03 for three per cent.
	MaxRegression float64 `json:"max_regression,omitempty"`
	JUnit         string  `json:"junit,omitempty"`
	Summary       string  `json:"summary,omitempty"` // Markdown
	NoHistory     bool    `json:"no_history,omitempty"`
	Label         string  `json:"label,omitempty"` // the run's name in the history
	Quiet         bool    `json:"quiet,omitempty"`
	Progress      string  `json:"progress,omitempty"` // auto, json or none
}

// OutcomeOption is one of these options, for the option table of any command.
type OutcomeOption struct {
	Long, Arg, Help, Default string
	Repeat, File             bool
	Values                   []string
	Set                      func(*Outcome, string) error
}

// ProgressModes are how a run may tell how it goes on.
var ProgressModes = []string{"auto", "json", "none"}

// OutcomeOptions lists the options.
func OutcomeOptions() []OutcomeOption {
	return []OutcomeOption{
		{Long: "report", Arg: "FILE", File: true, Help: "Write the result as one HTML page that opens offline: verdict, curves, tables, plan.", Set: textTo(func(o *Outcome) *string { return &o.Report })},
		{Long: "records", Arg: "FILE", File: true, Help: "Write every request, as Parquet (.parquet) or CSV (.csv).", Set: setRecords},
		{Long: "histogram-log", Arg: "FILE", File: true, Help: "Write the latencies as an HdrHistogram log (.hlog), one interval per window.", Set: textTo(func(o *Outcome) *string { return &o.HistogramLog })},
		{Long: "dash", Help: "Show the run on a live page in a browser on this machine; the address is printed.", Set: on(func(o *Outcome) *bool { return &o.Dash })},
		{Long: "dash-listen", Arg: "ADDRESS", Default: "127.0.0.1:0", Help: "Address to listen on for the live page; port 0 picks a free port. Other machines need the token in the printed " +
			"address.", Set: textTo(func(o *Outcome) *string { return &o.DashListen })},
		{Long: "metrics-listen", Arg: "ADDRESS", Help: "Address to listen on for Prometheus metrics of the run, at /metrics.", Set: textTo(func(o *Outcome) *string { return &o.MetricsListen })},
		{Long: "assert", Arg: "RULE", Repeat: true, Help: "Fail the run (exit code 4) unless the rule holds at every level: 'p99<50ms', 'throughput>900', 'error_rate<0.1%'. May be repeated.", Set: addAssert},
		{Long: "baseline", Arg: "RUN", Help: "Compare with an earlier run (an id of redline history, a result file or a folder) and fail (exit code 4) if this " +
			"run is worse.", Set: textTo(func(o *Outcome) *string { return &o.Baseline })},
		{Long: "max-regression", Arg: "PCT", Default: "3%", Help: "Allowed change for the worse from the baseline. A number fails if its whole confidence interval is beyond it.", Set: setRegression},
		{Long: "junit", Arg: "FILE", File: true, Help: "Write the assertions as JUnit XML, for CI.", Set: textTo(func(o *Outcome) *string { return &o.JUnit })},
		{Long: "summary", Arg: "FILE", File: true, Help: "Append a Markdown summary to the file, for CI pages.", Set: textTo(func(o *Outcome) *string { return &o.Summary })},
		{Long: "label", Arg: "TEXT", Help: "Name the run in the history.", Set: textTo(func(o *Outcome) *string { return &o.Label })},
		{Long: "no-history", Help: "Do not keep the run in the history.", Set: on(func(o *Outcome) *bool { return &o.NoHistory })},
		{Long: "quiet", Help: "Print only errors and failed assertions.", Set: on(func(o *Outcome) *bool { return &o.Quiet })},
		{Long: "progress", Arg: "HOW", Default: "auto", Values: ProgressModes, Help: "Progress on stderr: auto (a line on a terminal), json (one object per line, for programs) or none.", Set: setProgress},
	}
}

func textTo(field func(*Outcome) *string) func(*Outcome, string) error {
	return func(o *Outcome, v string) error { *field(o) = v; return nil }
}

func on(field func(*Outcome) *bool) func(*Outcome, string) error {
	return func(o *Outcome, _ string) error { *field(o) = true; return nil }
}

func setRecords(o *Outcome, v string) error {
	if !strings.HasSuffix(v, ".parquet") && !strings.HasSuffix(v, ".csv") {
		return fmt.Errorf("ends in .parquet or .csv, which says how it is written, not as %q does", v)
	}
	o.Records = v
	return nil
}

func addAssert(o *Outcome, v string) error {
	o.Asserts = append(o.Asserts, v)
	return nil
}

func setRegression(o *Outcome, v string) error {
	f, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(v, "%")), 64)
	if err != nil || !(f >= 0 && f < 1e6) {
		return fmt.Errorf("is a percentage, as 3%%, not %q", v)
	}
	o.MaxRegression = f / 100
	return nil
}

func setProgress(o *Outcome, v string) error {
	if !slices.Contains(ProgressModes, v) {
		return fmt.Errorf("is one of %s, not %q", strings.Join(ProgressModes, ", "), v)
	}
	o.Progress = v
	return nil
}

// DefaultOutcome is what holds when no option is given.
func DefaultOutcome() Outcome {
	return Outcome{DashListen: "127.0.0.1:0", MaxRegression: 0.03, Progress: "auto"}
}

// AddOptions puts the options into the table of a command.
func (o *Outcome) AddOptions(s *optset.Set) {
	*o = DefaultOutcome()
	s.Group("What becomes of the result")
	for _, opt := range OutcomeOptions() {
		help := strings.TrimSuffix(opt.Help, ".") // a phrase, as the help of the smaller commands has them
		s.Var(opt.Long, opt.Arg, opt.Default, strings.ToLower(help[:1])+help[1:], func(v string) error { return opt.Set(o, v) })
	}
}
