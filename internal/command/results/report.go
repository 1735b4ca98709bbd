package results

import (
	"fmt"

	"github.com/redline-bench/redline/internal/command"
	"github.com/redline-bench/redline/internal/command/runs"
	"github.com/redline-bench/redline/internal/optset"
)

// Report is `redline report`.
func Report(p *command.IO, args []string) (int, error) {
	var out string
	refs, err := command.Parse(reportSet(&out), args, 1, 2, "name one run or two, as in redline report last")
	if err != nil {
		return 0, err
	}
	sides, err := runs.LoadAll(p, refs)
	if err != nil {
		return 0, err
	}
	d, err := runs.Page(sides)
	if err == nil {
		err = runs.WritePage(p.Files, out, d)
	}
	if err == nil {
		fmt.Fprintln(p.Stdout, out)
	}
	return 0, err
}

// ReportHelp explains report.
func ReportHelp() string {
	var out string
	return `Usage: redline report RUN [RUN] [options]

Writes a run as one HTML page that opens offline; with two runs, both side by side. A run is an id of redline history,
"last", a label, a file of --json, or a file or folder of perf_analyzer, GenAI-Perf or AIPerf.
` + reportSet(&out).Help() + `
Examples
  redline report last
  redline report last~1 last -o before-and-after.html
`
}

// ReportNames are the options of report.
func ReportNames() []string { return reportSet(new(string)).Names() }

// reportSet are the options of `redline report`.
func reportSet(out *string) *optset.Set {
	*out = "redline-report.html"
	s := &optset.Set{}
	s.Group("Options")
	s.Text(out, "out,o", "FILE", "file to write the page to")
	return s
}
